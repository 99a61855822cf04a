//! How a lane loads packs of values and columns: the expression of each load and of each element.
//!
//! In: number type or column word, and the size of the pack. Out: CUDA types and loads as wide as the pack, at most 16
//! bytes, marked as read once (`__ldcs`), so that L1 keeps x and not the matrix. Names contain a number, so that several
//! packs can be in flight before the first is used.

use super::NumberKind;
use crate::ScalarType;

/// One load: a variable of a CUDA type, and its source.
pub(super) struct Load {
    /// `double2 value_0`
    pub declaration: String,
    /// `value_0`
    pub name: String,
    /// `__ldcs((const double2*)values_0 + k)`
    pub from: String,
}

/// Loads of one pack, and an expression for each element.
pub(super) struct Loads {
    pub loads: Vec<Load>,
    pub elements: Vec<String>,
}

/// Values of pack `at` of the table `from`; `number` distinguishes this pack from others in flight.
pub(super) fn values(scalar: ScalarType, pack: u32, from: &str, at: &str, number: u32) -> Loads {
    let (vector, fields): (&str, &[&str]) = match (scalar, pack) {
        (ScalarType::F64, 1) => ("double", &[""]),
        (ScalarType::F64, _) => ("double2", &[".x", ".y"]),
        (ScalarType::F32, 1) => ("float", &[""]),
        (ScalarType::F32, 2) => ("float2", &[".x", ".y"]),
        (ScalarType::F32, _) => ("float4", &[".x", ".y", ".z", ".w"]),
    };
    let parts = pack as usize / fields.len();
    let name = |part: usize| {
        if parts == 1 { format!("value_{number}") } else { format!("value_{number}{}", ["a", "b"][part]) }
    };
    let load = |part: usize| {
        let at = if parts == 1 { at.to_string() } else { format!("{parts} * ({at}) + {part}") };
        Load {
            declaration: format!("{vector} {}", name(part)),
            name: name(part),
            from: format!("__ldcs((const {vector}*){from} + {at})"),
        }
    };
    let elements = (0..parts).flat_map(|part| {
        let name = name(part);
        fields.iter().map(move |field| format!("(sum_t){name}{field}"))
    });
    Loads { loads: (0..parts).map(load).collect(), elements: elements.collect() }
}

/// Complex numbers or quaternions of pack `at` of the table `from`, which has `stored` of them. Loads of 16 bytes; the first halves of all
/// quaternions in double precision stand before the second halves, so that the loads of a warp are contiguous.
pub(super) fn numbers(
    (scalar, kind): (ScalarType, NumberKind),
    pack: u32,
    (from, stored): (&str, u64),
    at: &str,
    number: u32,
) -> Loads {
    let (vector, fields, halves): (&str, &[&str], u64) = match (scalar, kind) {
        (ScalarType::F64, NumberKind::Quaternion) => ("double2", &["x", "y"], 2),
        (ScalarType::F64, _) => ("double2", &["x", "y"], 1),
        (ScalarType::F32, NumberKind::Quaternion) => ("float4", &["x", "y", "z", "w"], 1),
        (ScalarType::F32, _) => ("float2", &["x", "y"], 1),
    };
    let (mut loads, mut elements) = (Vec::new(), Vec::new());
    for element in 0..pack {
        let at = if pack == 1 { at.to_string() } else { format!("{pack} * ({at}) + {element}") };
        let mut parts = Vec::new();
        for half in 0..halves {
            let suffix = if u64::from(pack) * halves == 1 {
                String::new()
            } else {
                ["a", "b", "c", "d", "e", "f", "g", "h"][(u64::from(element) * halves + half) as usize % 8].into()
            };
            let name = format!("value_{number}{suffix}");
            let plane = if half == 0 { String::new() } else { format!("{stored}ll + ") };
            loads.push(Load {
                declaration: format!("{vector} {name}"),
                name: name.clone(),
                from: format!("__ldcs((const {vector}*){from} + {plane}{at})"),
            });
            parts.extend(fields.iter().map(|field| format!("{name}.{field}")));
        }
        elements.push(format!("number{{{}}}", parts.join(", ")));
    }
    Loads { loads, elements }
}

/// Column words of pack `at` of the table `from`.
pub(super) fn columns(bytes: u64, pack: u32, from: &str, at: &str, number: u32) -> Loads {
    let (vector, elements): (&str, &[&str]) = match (bytes, pack) {
        (2, 1) => ("u16", &["(u32)@"]),
        (2, 2) => ("u32", &["(@ & 0xffffu)", "(@ >> 16)"]),
        (2, _) => ("uint2", &["(@.x & 0xffffu)", "(@.x >> 16)", "(@.y & 0xffffu)", "(@.y >> 16)"]),
        (_, 1) => ("u32", &["@"]),
        (_, 2) => ("uint2", &["@.x", "@.y"]),
        _ => ("uint4", &["@.x", "@.y", "@.z", "@.w"]),
    };
    let name = format!("column_{number}");
    Loads {
        elements: elements.iter().map(|element| element.replace('@', &name)).collect(),
        loads: vec![Load {
            declaration: format!("{vector} {name}"),
            name,
            from: format!("__ldcs((const {vector}*){from} + {at})"),
        }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pack_is_loaded_in_as_few_loads_as_16_bytes_allow() {
        for (scalar, pack, count) in
            [(ScalarType::F64, 1, 1), (ScalarType::F64, 2, 1), (ScalarType::F64, 4, 2), (ScalarType::F32, 4, 1)]
        {
            let found = values(scalar, pack, "values_0", "k", 0);
            assert_eq!((found.loads.len(), found.elements.len()), (count, pack as usize));
        }
        let second = &values(ScalarType::F64, 4, "v", "k", 3).loads[1];
        assert_eq!(second.declaration, "double2 value_3b");
        assert_eq!(second.from, "__ldcs((const double2*)v + 2 * (k) + 1)");
        let complex = numbers((ScalarType::F64, NumberKind::Complex), 2, ("v", 9), "k", 1);
        assert_eq!(complex.elements, ["number{value_1a.x, value_1a.y}", "number{value_1b.x, value_1b.y}"]);
        assert_eq!(complex.loads[1].from, "__ldcs((const double2*)v + 2 * (k) + 1)");
        let quaternion = numbers((ScalarType::F64, NumberKind::Quaternion), 1, ("v", 9), "k", 0);
        assert_eq!(quaternion.elements, ["number{value_0a.x, value_0a.y, value_0b.x, value_0b.y}"]);
        assert_eq!(quaternion.loads[1].from, "__ldcs((const double2*)v + 9ll + k)");
        let single = numbers((ScalarType::F32, NumberKind::Quaternion), 1, ("v", 9), "k", 0);
        assert_eq!((single.loads.len(), single.loads[0].declaration.as_str()), (1, "float4 value_0"));
        for (bytes, pack) in [(2, 1), (2, 2), (2, 4), (4, 1), (4, 2), (4, 4)] {
            let found = columns(bytes, pack, "columns_0", "k", 1);
            assert_eq!((found.loads.len(), found.elements.len()), (1, pack as usize));
            assert!(found.elements.iter().all(|element| element.contains("column_1")));
        }
    }
}
