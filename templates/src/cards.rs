//! The text of one card among several that work as one device.
//!
//! In: a text for a device alone. Out: the same text for card k of n, which starts with the same grid as all others and does its
//! share. A kernel whose template says what a share is (`OF_THIS_CARD`, in `cuda/share.cuh`) keeps its word; of any other kernel
//! each card runs a run of the blocks. Loops over more items than blocks take them from the card's share where the template has
//! `SHARE_FIRST`, so that a card works on the part of a vector that lies in its own memory. Counters and fences become those of
//! the system: blocks of several cards meet at them.

use crate::files;
use crate::signature::body_of;
use crate::text::KernelText;

/// Functions of a card alone that have another name where several cards see the memory.
const OF_THE_SYSTEM: [&str; 8] =
    ["__threadfence", "atomicAdd", "atomicInc", "atomicMax", "atomicMin", "atomicOr", "atomicExch", "atomicCAS"];

impl KernelText {
    /// The text of card `card` of `cards` that work as one device; its kernels take the same arguments and the same grid.
    ///
    /// # Panics
    /// There is no such card.
    #[must_use]
    pub fn for_card(&self, card: u32, cards: u32) -> KernelText {
        assert!(card < cards, "card {card} of {cards}");
        let mut head = format!(
            "// Card {card} of {cards} that work as one device, counted from 0.\n#define CARDS {cards}\n#define CARD {card}\n"
        );
        head += "#ifdef __CUDACC__\n";
        for name in OF_THE_SYSTEM {
            head += &format!("#define {name} {name}_system\n");
        }
        head += "#endif\n";
        let mut text = self.text.clone();
        for entry in &self.entries {
            let Some(body) = body_of(&text, entry) else { continue };
            if !text[body.clone()].contains("OF_THIS_CARD(") {
                text.insert_str(body.start, " if (!OF_THIS_CARD(blockIdx.x, gridDim.x)) return;");
            }
        }
        // The prelude has the names of the integers, which the functions of a share need where they are used, not here; a template that
        // says the same again further down does no harm.
        head += files::SHARE.source;
        let name = format!("{}_card_{card}_of_{cards}", self.name);
        let plan = format!("// card {card} of {cards}\n{}", self.plan);
        KernelText { name, text: head + &text, plan, entries: self.entries.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(kernels: &str) -> KernelText {
        let entries = crate::signature::kernels(kernels);
        KernelText { name: "some".into(), text: kernels.into(), plan: "()".into(), entries }
    }

    #[test]
    fn each_kernel_asks_whether_a_block_is_its_own_once() {
        let own = "extern \"C\" __global__ void by_rows(double* x)\n{\n    if (!OF_THIS_CARD(blockIdx.x % 3, 3)) return;\n}\n";
        let any =
            "extern \"C\" __global__ void __launch_bounds__(64)\nby_blocks(double* x) // {\n{ if (x) { x[0] = 1; } }\n";
        let one = text(&[own, any].concat()).for_card(1, 3);
        assert!(one.text.contains("#define CARDS 3\n#define CARD 1\n"), "{}", one.text);
        assert_eq!(one.text.matches("if (!OF_THIS_CARD(").count(), 2, "{}", one.text);
        assert!(one.text.contains("{ if (!OF_THIS_CARD(blockIdx.x, gridDim.x)) return; if (x)"), "{}", one.text);
        assert!(one.name != text(any).for_card(0, 3).name);
    }

    #[test]
    fn shares_of_every_count_cover_it_once() {
        // The arithmetic of `share.cuh`.
        for (cards, count) in (1i64..6).flat_map(|cards| (0i64..40).map(move |count| (cards, count))) {
            let first = |card: i64| count * card / cards;
            assert_eq!((first(0), first(cards)), (0, count));
            assert!((0..cards).all(|card| first(card) <= first(card + 1)));
            assert!(count < cards || (0..cards).all(|card| first(card) < first(card + 1)), "{count} over {cards}");
        }
    }
}
