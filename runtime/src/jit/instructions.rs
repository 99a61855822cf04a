//! The composition of a kernel's machine code: its instructions counted by the unit they occupy.
//!
//! In: nvdisasm's text of one kernel. Out: [`InstructionMix`]. An instruction counts once however often it runs, so the
//! numbers show how the compiler wrote the kernel (wide loads, spills, the order of double-precision work in the loop),
//! not how long it takes. Every instruction except NOP is in exactly one class.
//!
//! Reference: NVIDIA, "CUDA Binary Utilities", instruction sets of compute capability 7.x to 12.x.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Memory instructions by the bits that one thread moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Widths {
    /// 8 bits.
    pub b8: u32,
    /// 16 bits.
    pub b16: u32,
    /// 32 bits.
    pub b32: u32,
    /// 64 bits.
    pub b64: u32,
    /// 128 bits and more: one quarter-warp fills a 128-byte line.
    pub b128: u32,
}

impl Widths {
    /// All of them.
    pub fn total(&self) -> u32 {
        self.b8 + self.b16 + self.b32 + self.b64 + self.b128
    }

    /// Name and count, narrow to wide.
    pub fn classes(&self) -> [(&'static str, u32); 5] {
        [("b8", self.b8), ("b16", self.b16), ("b32", self.b32), ("b64", self.b64), ("b128", self.b128)]
    }

    fn count(&mut self, mnemonic: &str) {
        // LDG.E.64.CONSTANT, LDG.E.U8, STS.128; without a width it is 32 bits.
        let slot = mnemonic.split('.').skip(1).find_map(|part| match part {
            "U8" | "S8" => Some(8),
            "U16" | "S16" => Some(16),
            "64" => Some(64),
            "128" | "256" => Some(128),
            _ => None,
        });
        match slot {
            Some(8) => self.b8 += 1,
            Some(16) => self.b16 += 1,
            Some(64) => self.b64 += 1,
            Some(_) => self.b128 += 1,
            None => self.b32 += 1,
        }
    }
}

/// The instructions of one kernel by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstructionMix {
    /// All but NOP.
    pub total: u32,
    /// LDG: device memory to registers.
    pub global_loads: Widths,
    /// STG.
    pub global_stores: Widths,
    /// LDS.
    pub shared_loads: Widths,
    /// STS.
    pub shared_stores: Widths,
    /// Device memory to shared memory without registers: LDGSTS, bulk copies.
    pub async_copies: u32,
    /// LDL and STL: registers spilled, or an array that is indexed at run time.
    pub local: u32,
    /// LD and ST: the compiler could not determine the memory space.
    pub generic: u32,
    /// Atomic operations and reductions in memory.
    pub atomics: u32,
    /// LDC and related: kernel arguments and `__constant__` tables.
    pub constants: u32,
    /// DFMA, DADD, DMUL, DSETP.
    pub fp64: u32,
    /// FFMA, FADD, FMUL, FSETP, FSEL and the half-precision ones.
    pub fp32: u32,
    /// MUFU: first approximations of reciprocals and roots.
    pub special: u32,
    /// Conversions between number types.
    pub conversions: u32,
    /// Additions, shifts, comparisons, bit counts, addresses.
    pub integer: u32,
    /// Moves between registers, and constants into registers.
    pub moves: u32,
    /// Jumps, calls, exits, and reconvergence of diverged threads.
    pub branches: u32,
    /// `__syncthreads` and waits for asynchronous copies.
    pub barriers: u32,
    /// Shuffles, votes, `__syncwarp`.
    pub warp: u32,
    /// Everything else.
    pub other: u32,
}

impl InstructionMix {
    /// Counts the instructions in nvdisasm's text of one kernel; other lines are ignored.
    pub fn parse(sass: &str) -> InstructionMix {
        let mut mix = InstructionMix::default();
        sass.lines().filter_map(instruction).for_each(|(mnemonic, operands)| mix.count(mnemonic, operands));
        mix
    }

    fn count(&mut self, mnemonic: &str, operands: &str) {
        let operation = mnemonic.split('.').next().unwrap_or_default();
        if operation == "NOP" {
            return;
        }
        self.total += 1;
        // Warp-uniform operations have the per-thread name with a U in front.
        let plain = operation.strip_prefix('U').unwrap_or(operation);
        let class = match operation {
            "LDG" => return self.global_loads.count(mnemonic),
            "STG" => return self.global_stores.count(mnemonic),
            "LDS" | "LDSM" => return self.shared_loads.count(mnemonic),
            "STS" | "STSM" => return self.shared_stores.count(mnemonic),
            "LDL" | "STL" => &mut self.local,
            "LD" | "ST" => &mut self.generic,
            "LDC" | "ULDC" | "LDCU" => &mut self.constants,
            "LDGSTS" | "UBLKCP" | "UTMALDG" | "UTMASTG" => &mut self.async_copies,
            "BAR" | "DEPBAR" | "LDGDEPBAR" | "ARRIVES" | "SYNCS" | "MEMBAR" | "ERRBAR" | "CCTL" => &mut self.barriers,
            "SHFL" | "VOTE" | "VOTEU" | "MATCH" | "REDUX" | "CREDUX" | "WARPSYNC" | "ENDCOLLECTIVE" | "ELECT"
            | "NANOSLEEP" => &mut self.warp,
            "BRA" | "BRX" | "BRXU" | "JMP" | "JMX" | "CALL" | "RET" | "EXIT" | "BSSY" | "BSYNC" | "BREAK" | "YIELD"
            | "KILL" | "BPT" | "RPCMOV" | "BMOV" => &mut self.branches,
            "MUFU" => &mut self.special,
            _ if operation.starts_with("ATOM") || operation == "RED" => &mut self.atomics,
            // Adding zero in an integer unit, or multiplying by one in a half-precision unit, is a move.
            "IMAD" if mnemonic.starts_with("IMAD.MOV") => &mut self.moves,
            "HFMA2" if operands.contains("-RZ, RZ") => &mut self.moves,
            _ => match plain {
                "MOV" | "MOV32I" | "CS2R" | "S2R" | "S2UR" | "R2UR" | "R2P" | "P2R" | "P2UR" | "GETLMEMBASE" => {
                    &mut self.moves
                }
                "I2F" | "F2I" | "F2F" | "I2I" | "FRND" | "I2FP" | "F2FP" | "I2IP" => &mut self.conversions,
                "IMAD" | "IADD3" | "IADD" | "IADD32I" | "VIADD" | "LEA" | "SHF" | "SHL" | "SHR" | "LOP3" | "LOP32I"
                | "ISETP" | "ISCADD" | "IMNMX" | "VIMNMX" | "VIMNMX3" | "VIADDMNMX" | "IABS" | "SEL" | "PRMT"
                | "POPC" | "FLO" | "BREV" | "SGXT" | "BMSK" | "PLOP3" | "PSETP" | "IDP" | "SZEXT" => &mut self.integer,
                _ if is_double(operation) => &mut self.fp64,
                _ if operation.starts_with(['F', 'H']) => &mut self.fp32,
                _ => &mut self.other,
            },
        };
        *class += 1;
    }

    /// Name and count of every class that has no widths, in a fixed order.
    pub fn classes(&self) -> [(&'static str, u32); 15] {
        [
            ("async_copies", self.async_copies),
            ("local", self.local),
            ("generic", self.generic),
            ("atomics", self.atomics),
            ("constants", self.constants),
            ("fp64", self.fp64),
            ("fp32", self.fp32),
            ("special", self.special),
            ("conversions", self.conversions),
            ("integer", self.integer),
            ("moves", self.moves),
            ("branches", self.branches),
            ("barriers", self.barriers),
            ("warp", self.warp),
            ("other", self.other),
        ]
    }

    /// Name and counts of the classes that have widths, in a fixed order.
    pub fn memory(&self) -> [(&'static str, Widths); 4] {
        [
            ("global_loads", self.global_loads),
            ("global_stores", self.global_stores),
            ("shared_loads", self.shared_loads),
            ("shared_stores", self.shared_stores),
        ]
    }
}

impl fmt::Display for InstructionMix {
    /// One line: the classes that occur, memory with its widths in bits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} instructions:", self.total)?;
        let mut separator = "";
        for (name, widths) in self.memory().into_iter().filter(|(_, widths)| widths.total() > 0) {
            let classes = widths.classes().into_iter().filter(|(_, count)| *count > 0);
            let parts: Vec<String> = classes.map(|(width, count)| format!("{count} x {}", &width[1..])).collect();
            write!(f, "{separator} {} {}", name.replace('_', " "), parts.join(" + "))?;
            separator = ",";
        }
        for (name, count) in self.classes().into_iter().filter(|(_, count)| *count > 0) {
            write!(f, "{separator} {count} {}", name.replace('_', " "))?;
            separator = ",";
        }
        Ok(())
    }
}

fn is_double(operation: &str) -> bool {
    matches!(operation, "DADD" | "DMUL" | "DFMA" | "DSETP" | "DMNMX" | "DSET" | "DMMA")
}

/// Mnemonic and operands of `/*0a90*/  @!P0 DFMA R4, R2, R6, R4 ;`; `None` for labels, directives and line marks.
fn instruction(line: &str) -> Option<(&str, &str)> {
    let (address, rest) = line.trim_start().strip_prefix("/*")?.split_once("*/")?;
    if address.is_empty() || !address.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let rest = rest.trim_start().trim_start_matches(['{', ' ']);
    let rest = match rest.strip_prefix('@') {
        Some(predicated) => predicated.split_once(' ')?.1.trim_start(),
        None => rest,
    };
    let (mnemonic, operands) = rest.split_once([' ', ';']).unwrap_or((rest, ""));
    mnemonic.starts_with(|c: char| c.is_ascii_uppercase()).then_some((mnemonic, operands))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Recorded from nvdisasm 13.5 for sm_90, parts of the Hubbard multiply, with what the lines do in the comment.
    const RECORDED: &str = "\
.text.multiply_up:
\t//## File \"kernel.cu\", line 72
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   S2R R3, SR_TID.X ;
        /*0030*/                   ULDC.64 UR6, c[0x0][0x208] ;
        /*0040*/                   BSSY B0, `(.L_x_0) ;
        /*0050*/                   CS2R R24, SRZ ;
        /*0060*/                   ISETP.GE.U32.AND P0, PT, R3, R6, PT ;
        /*0080*/               @P0 BRA `(.L_x_1) ;
        /*0090*/                   LOP3.LUT R5, RZ, R3, RZ, 0x33, !PT ;
        /*00b0*/                   IMAD.MOV.U32 R27, RZ, RZ, R3 ;
        /*00d0*/                   IMAD.WIDE.U32 R2, R3, 0x8, R6 ;
        /*00f0*/                   HFMA2.MMA R5, -RZ, RZ, 0, 5.9604644775390625e-08 ;
.L_x_4:
        /*0220*/                   LDG.E.64.CONSTANT R4, desc[UR6][R4.64] ;
        /*0230*/                   LDG.E.128.CONSTANT R8, desc[UR6][R4.64] ;
        /*0240*/              @!P1 LDG.E.U16.CONSTANT R9, desc[UR6][R4.64] ;
        /*0250*/                   LDG.E.CONSTANT R9, desc[UR6][R4.64] ;
        /*0260*/                   STG.E.64 desc[UR6][R4.64], R8 ;
        /*0270*/                   LDS.64 R8, [R3] ;
        /*0280*/                   STS.64 [R3], R8 ;
        /*0290*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*02a0*/                   DADD R24, R4, R24 ;
        /*02b0*/             @!UP0 UIADD3 UR4, UR4, 0x1, URZ ;
        /*02c0*/                   I2F.F64.U32 R4, R2 ;
        /*02d0*/                   SHFL.BFLY PT, R5, R4, 0x10, 0x1f ;
        /*02e0*/                   MUFU.RCP64H R5, R7 ;
        /*02f0*/                   FSEL R4, R4, RZ, P0 ;
        /*0300*/                   EXIT ;
.L_x_9:
        /*0310*/                   BRA `(.L_x_9);
        /*0320*/                   NOP;
";

    #[test]
    fn recorded_code_is_counted_by_class() {
        let mix = InstructionMix::parse(RECORDED);
        let widths = |b16, b32, b64, b128| Widths { b8: 0, b16, b32, b64, b128 };
        assert_eq!(mix.global_loads, widths(1, 1, 1, 1));
        assert_eq!(mix.global_stores, widths(0, 0, 1, 0));
        assert_eq!((mix.shared_loads, mix.shared_stores), (widths(0, 0, 1, 0), widths(0, 0, 1, 0)));
        assert_eq!((mix.constants, mix.moves, mix.integer), (2, 4, 4));
        assert_eq!((mix.branches, mix.barriers, mix.warp), (4, 1, 1));
        assert_eq!((mix.fp64, mix.fp32, mix.special, mix.conversions), (1, 1, 1, 1));
        assert_eq!((mix.local, mix.other, mix.total), (0, 0, 27));
    }

    #[test]
    fn every_instruction_is_in_one_class_and_spills_are_seen() {
        let spilled = RECORDED.replace("LDS.64 R8, [R3]", "LDL.64 R8, [R1]").replace("MUFU.RCP64H", "FROBNICATE");
        for sass in [RECORDED, &spilled, "", "no code at all"] {
            let mix = InstructionMix::parse(sass);
            let memory: u32 = mix.memory().iter().map(|(_, widths)| widths.total()).sum();
            let rest: u32 = mix.classes().iter().map(|(_, count)| count).sum();
            assert_eq!(memory + rest, mix.total, "{mix}");
        }
        assert_eq!(InstructionMix::parse(&spilled).local, 1);
        assert_eq!(InstructionMix::parse(""), InstructionMix::default());
    }

    #[test]
    fn the_line_names_what_occurs() {
        let line = InstructionMix::parse(RECORDED).to_string();
        assert!(line.starts_with("27 instructions: global loads 1 x 16 + 1 x 32 + 1 x 64 + 1 x 128, global"), "{line}");
        assert!(line.contains(", 1 fp64,") && !line.contains("local"), "{line}");
    }
}
