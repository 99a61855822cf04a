//! How a lane loads a pack of values and columns: the statements, and what stands for each element afterwards.
//!
//! In: number type or column word, and the size of the pack. Out: CUDA statements with loads as wide as the pack, 16 bytes at
//! most, marked as read once (`__ldcs`), so that L1 keeps x and not the matrix.

use crate::ScalarType;

/// Statements that load, and an expression for each element.
pub(super) struct Loads {
    pub statements: Vec<String>,
    pub elements: Vec<String>,
}

/// Values of pack `k` of the table `from`.
pub(super) fn values(scalar: ScalarType, pack: u32, from: &str) -> Loads {
    let (vector, fields): (&str, &[&str]) = match (scalar, pack) {
        (ScalarType::F64, 1) => ("double", &[""]),
        (ScalarType::F64, _) => ("double2", &[".x", ".y"]),
        (ScalarType::F32, 1) => ("float", &[""]),
        (ScalarType::F32, 2) => ("float2", &[".x", ".y"]),
        (ScalarType::F32, _) => ("float4", &[".x", ".y", ".z", ".w"]),
    };
    let loads = pack as usize / fields.len();
    let name = |load: usize| if loads == 1 { "value".to_string() } else { format!("value_{load}") };
    let statements = (0..loads).map(|load| {
        let at = if loads == 1 { "k".to_string() } else { format!("{loads} * k + {load}") };
        format!("const {vector} {} = __ldcs((const {vector}*){from} + {at});", name(load))
    });
    let elements = (0..loads).flat_map(|load| {
        let name = name(load);
        fields.iter().map(move |field| format!("(double){name}{field}"))
    });
    Loads { statements: statements.collect(), elements: elements.collect() }
}

/// Column words of pack `k` of the table `from`.
pub(super) fn columns(bytes: u64, pack: u32, from: &str) -> Loads {
    let (vector, elements): (&str, &[&str]) = match (bytes, pack) {
        (2, 1) => ("u16", &["(u32)column"]),
        (2, 2) => ("u32", &["(column & 0xffffu)", "(column >> 16)"]),
        (2, _) => ("uint2", &["(column.x & 0xffffu)", "(column.x >> 16)", "(column.y & 0xffffu)", "(column.y >> 16)"]),
        (_, 1) => ("u32", &["column"]),
        (_, 2) => ("uint2", &["column.x", "column.y"]),
        _ => ("uint4", &["column.x", "column.y", "column.z", "column.w"]),
    };
    Loads {
        statements: vec![format!("const {vector} column = __ldcs((const {vector}*){from} + k);")],
        elements: elements.iter().map(|element| element.to_string()).collect(),
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
            let loads = values(scalar, pack, "values_0");
            assert_eq!((loads.statements.len(), loads.elements.len()), (count, pack as usize));
        }
        assert_eq!(
            values(ScalarType::F64, 4, "v").statements[1],
            "const double2 value_1 = __ldcs((const double2*)v + 2 * k + 1);"
        );
        for (bytes, pack) in [(2, 1), (2, 2), (2, 4), (4, 1), (4, 2), (4, 4)] {
            let loads = columns(bytes, pack, "columns_0");
            assert_eq!((loads.statements.len(), loads.elements.len()), (1, pack as usize));
        }
    }
}
