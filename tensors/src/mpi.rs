//! The connection between processes by MPI. Requires the feature `mpi`.
//!
//! A message is one of bytes (RON: its kind, shares of the summary) and, for each finished group, one of 8-byte numbers per
//! channel.

use super::processes::{Connection, Message, Processes, TeamError};
use mpi::traits::{Communicator, Destination, Source};

fn connection(error: impl ToString) -> TeamError {
    TeamError::Connection(error.to_string())
}

impl Connection for Processes {
    fn workers(&self) -> usize {
        self.0.communicator().size() as usize - 1
    }

    fn send(&mut self, to: usize, message: Message) -> Result<(), TeamError> {
        let world = self.0.communicator();
        let to = world.process_at_rank(to as i32);
        to.send(ron::to_string(&message).map_err(connection)?.as_bytes());
        if let Message::Finished(groups) = &message {
            groups.iter().flat_map(|group| &group.vectors).for_each(|vector| to.send(&vector[..]));
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<(usize, Message), TeamError> {
        let world = self.0.communicator();
        let (bytes, status) = match world.rank() {
            0 => world.any_process().receive_vec::<u8>(),
            _ => world.process_at_rank(0).receive_vec::<u8>(),
        };
        let mut message = ron::de::from_bytes(&bytes).map_err(connection)?;
        if let Message::Finished(groups) = &mut message {
            let from = world.process_at_rank(status.source_rank());
            for group in groups {
                group.vectors = group.shares.iter().map(|_| from.receive_vec::<f64>().0).collect();
            }
        }
        Ok((status.source_rank() as usize, message))
    }
}
