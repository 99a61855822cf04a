//! What a card needs of the others in a multiply, and how it gets it.
//!
//! In: what the plan says. Out: memory on each card for copies of x, or for the rows that the cards exchange, and the arguments of launches.

use eigenforge_runtime::{Arguments, Device, DeviceError, Everywhere, OnDevice, Scalar, Vector};
use eigenforge_templates::exact::Exchange;
use eigenforge_templates::{Launch, ScalarType};
use std::ops::Range;

/// What reaches a card from the others.
#[derive(Clone, Copy, Debug)]
pub enum Traffic {
    /// Nothing.
    Nothing,
    /// Elements of x, which kernels read one by one where they lie.
    Elements,
    /// Copies of a whole x of so many elements for the kernels whose names begin so, which read elements of other cards many times, or each
    /// from another place.
    Copies(usize, ScalarType, &'static str),
    /// Rows of x for the kernel of this name, which fetches them by chunks; the other kernels collect what it adds.
    Exchanged(Exchange, ScalarType, &'static str),
    /// Panels of whole rows, also on one card: the numbers of two panels, and how many panels a card has.
    Panels(u64, ScalarType, u32),
    /// Copies of so many numbers that a launch writes and the next reads, `staged`.
    Staged(u64, ScalarType),
}

/// Memory of a device for it, a part on each card.
pub(super) enum CardTraffic {
    Nothing,
    Copies(Everywhere, &'static str),
    Exchanged(Rows, &'static str),
    Panels(Rows),
    Staged(Numbers, Option<Everywhere>),
}

/// Numbers of a vector's type that one launch writes and the next reads.
pub(super) enum Numbers {
    F64(Vector<f64>),
    F32(Vector<f32>),
}

impl Numbers {
    fn new(len: usize, scalar: ScalarType, device: &Device) -> Result<Numbers, DeviceError> {
        Ok(match scalar {
            ScalarType::F64 => Numbers::F64(device.zeros(len)?),
            ScalarType::F32 => Numbers::F32(device.zeros(len)?),
        })
    }

    fn memory(&self) -> &(dyn OnDevice + 'static) {
        match self {
            Numbers::F64(own) => own,
            Numbers::F32(own) => own,
        }
    }

    fn memory_mut(&mut self) -> &mut (dyn OnDevice + 'static) {
        match self {
            Numbers::F64(own) => own,
            Numbers::F32(own) => own,
        }
    }

    /// A copy for every card, which what is queued next waits for.
    fn copy_to(&self, copies: &mut Everywhere) -> Result<(), DeviceError> {
        match self {
            Numbers::F64(own) => copies.begin(own)?,
            Numbers::F32(own) => copies.begin(own)?,
        }
        copies.finish()
    }
}

/// Memory for rows that are fetched and for what their hops add.
pub(super) struct Rows {
    staged: Box<dyn OnDevice + Send>,
    added: Box<dyn OnDevice + Send>,
    /// Chunks, or panels, of a card.
    count: i32,
}

impl CardTraffic {
    pub(super) fn new(traffic: Traffic, device: &Device) -> Result<CardTraffic, DeviceError> {
        Ok(match traffic {
            Traffic::Nothing | Traffic::Elements => CardTraffic::Nothing,
            Traffic::Copies(elements, scalar, reader) => match Everywhere::new(device, elements, scalar)? {
                Some(copies) => CardTraffic::Copies(copies, reader),
                // There is one card, or no room.
                None => CardTraffic::Nothing,
            },
            Traffic::Exchanged(exchange, scalar, reader) => {
                let part = |part: u64| numbers((part * u64::from(device.cards_at_work())) as usize, scalar, device);
                let (staged, added) = (part(exchange.staged)?, part(exchange.across)?);
                CardTraffic::Exchanged(Rows { staged, added, count: exchange.chunks as i32 }, reader)
            }
            Traffic::Panels(elements, scalar, panels) => {
                let memory = || numbers(elements as usize, scalar, device);
                CardTraffic::Panels(Rows { staged: memory()?, added: memory()?, count: panels as i32 })
            }
            Traffic::Staged(elements, scalar) => {
                let copies = Everywhere::new(device, elements as usize, scalar)?;
                CardTraffic::Staged(Numbers::new(elements as usize, scalar, device)?, copies)
            }
        })
    }

    /// Starts what can be sent before the first launch.
    pub(super) fn begin<T: Scalar>(&mut self, x: &Vector<T>) -> Result<(), DeviceError> {
        if let CardTraffic::Copies(copies, _) = self {
            copies.begin(x)?;
        }
        Ok(())
    }

    /// How often a kernel is launched: each chunk, or panel, is made a launch before it is used and added a launch later.
    pub(super) fn steps(&self, entry: &str) -> Range<i32> {
        match self {
            CardTraffic::Exchanged(rows, reader) if entry == *reader => -1..rows.count,
            CardTraffic::Panels(rows) if entry == "multiply_panels" => -1..rows.count + 1,
            _ => 0..1,
        }
    }

    /// Adds x, or what came of it from other cards.
    pub(super) fn arguments<'a, T: Scalar>(
        &'a mut self,
        launch: &Launch,
        step: i32,
        x: &'a Vector<T>,
        vectors: Arguments<'a>,
    ) -> Result<Arguments<'a>, DeviceError> {
        let reads = |reader: &str| launch.entry == reader;
        let fetched = |vectors: Arguments<'a>, rows: &'a mut Rows, step_name| {
            let vectors = vectors.read("x", x).write("staged", &mut *rows.staged);
            vectors.write("across", &mut *rows.added).i32(step_name, step)
        };
        Ok(match self {
            CardTraffic::Copies(copies, reader) => match launch.entry.starts_with(*reader) {
                true => {
                    // Made beside the launches before, which read a card's own elements alone.
                    copies.finish()?;
                    vectors.read("x", &*copies)
                }
                false => vectors.read("x", x),
            },
            CardTraffic::Exchanged(rows, reader) => match reads(reader) {
                true => fetched(vectors, rows, "chunk"),
                false => vectors.read("x", x).read("across", &*rows.added),
            },
            CardTraffic::Panels(rows) if reads("multiply_panels") => fetched(vectors, rows, "panel"),
            CardTraffic::Staged(numbers, copies) => match (launch.writes("staged"), launch.names("staged"), copies) {
                (true, ..) => vectors.read("x", x).write("staged", numbers.memory_mut()),
                (false, true, Some(copies)) => {
                    numbers.copy_to(copies)?;
                    vectors.read("x", x).read("staged", &*copies)
                }
                _ => vectors.read("x", x).read("staged", numbers.memory()),
            },
            CardTraffic::Panels(_) | CardTraffic::Nothing => vectors.read("x", x),
        })
    }
}

/// Memory of the vectors' numbers, 0.
fn numbers(len: usize, scalar: ScalarType, device: &Device) -> Result<Box<dyn OnDevice + Send>, DeviceError> {
    Ok(match Numbers::new(len, scalar, device)? {
        Numbers::F64(own) => Box::new(own),
        Numbers::F32(own) => Box::new(own),
    })
}
