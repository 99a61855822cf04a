//! Errors of the benchmarks as the library's: what the library raised is handed on, and the rest (results that differ, above all)
//! becomes [`Error::Other`].

use crate::certification::CertificationError;
use crate::ci::CiBenchError;
use crate::ci_direct::DirectBenchError;
use crate::devices::DevicesBenchError;
use crate::dmrg::DmrgBenchError;
use crate::hubbard::BenchError;
use crate::levels::LevelsBenchError;
use crate::paper::PaperError;
use crate::resume::ResumeBenchError;
use crate::spins::SpinsBenchError;
use crate::su3::Su3BenchError;
use crate::symmetries::SymmetriesBenchError;
use eigenforge::Error;
use eigenforge::path::FamilyError;

impl FamilyError for BenchError {
    fn is_of_the_input(&self) -> bool {
        matches!(self, BenchError::NotHubbard { .. })
    }
}

impl FamilyError for CertificationError {}
impl FamilyError for DirectBenchError {}
impl FamilyError for DmrgBenchError {}
impl FamilyError for Su3BenchError {}
impl FamilyError for LevelsBenchError {}

impl FamilyError for ResumeBenchError {
    fn is_of_the_input(&self) -> bool {
        matches!(self, ResumeBenchError::NoCase(_))
    }
}

impl FamilyError for PaperError {
    fn is_of_the_input(&self) -> bool {
        matches!(
            self,
            PaperError::NoSuchTable { .. }
                | PaperError::NotRedrawn { .. }
                | PaperError::NoFigure { .. }
                | PaperError::NoSuchFigure { .. }
                | PaperError::OnePicture { .. }
        )
    }
}

impl FamilyError for SpinsBenchError {
    fn is_of_the_input(&self) -> bool {
        matches!(self, SpinsBenchError::NoCase { .. })
    }
}

impl FamilyError for DevicesBenchError {
    fn is_of_the_input(&self) -> bool {
        matches!(self, DevicesBenchError::Family(_) | DevicesBenchError::OneCard(_))
    }
}

impl From<DevicesBenchError> for Error {
    fn from(error: DevicesBenchError) -> Error {
        match error {
            DevicesBenchError::Input(error) => error.into(),
            DevicesBenchError::Operator(error) => error.into(),
            DevicesBenchError::Prepare(error) => error.into(),
            DevicesBenchError::Device(error) => error.into(),
            DevicesBenchError::Write(error) => error.into(),
            own => Error::other(own),
        }
    }
}

impl FamilyError for SymmetriesBenchError {
    fn is_of_the_input(&self) -> bool {
        matches!(self, SymmetriesBenchError::NoCase { .. })
    }
}

impl From<LevelsBenchError> for Error {
    fn from(error: LevelsBenchError) -> Error {
        match error {
            LevelsBenchError::Write(error) => error.into(),
            own => Error::other(own),
        }
    }
}

impl From<SymmetriesBenchError> for Error {
    fn from(error: SymmetriesBenchError) -> Error {
        match error {
            SymmetriesBenchError::Input(error) => error.into(),
            SymmetriesBenchError::Operator(error) => error.into(),
            SymmetriesBenchError::Prepare(error) => error.into(),
            SymmetriesBenchError::Device(error) => error.into(),
            SymmetriesBenchError::Write(error) => error.into(),
            own => Error::other(own),
        }
    }
}

impl From<CertificationError> for Error {
    fn from(error: CertificationError) -> Error {
        match error {
            CertificationError::Solve(error) => error.into(),
            CertificationError::Output(error) => error.into(),
            own => Error::other(own),
        }
    }
}

impl From<SpinsBenchError> for Error {
    fn from(error: SpinsBenchError) -> Error {
        match error {
            SpinsBenchError::Operator(error) => error.into(),
            SpinsBenchError::Prepare(error) => error.into(),
            SpinsBenchError::Device(error) => error.into(),
            SpinsBenchError::Write(error) => error.into(),
            own => Error::other(own),
        }
    }
}

impl From<BenchError> for Error {
    fn from(error: BenchError) -> Error {
        match error {
            BenchError::Input(error) => error.into(),
            BenchError::Operator(error) => error.into(),
            BenchError::Prepare(error) => error.into(),
            BenchError::Device(error) => error.into(),
            BenchError::Solve(error) => error.into(),
            BenchError::Picture(error) => error.into(),
            BenchError::Write(error) => error.into(),
            own => Error::other(own),
        }
    }
}

impl From<CiBenchError> for Error {
    fn from(error: CiBenchError) -> Error {
        match error {
            CiBenchError::Spmv(error) => error.into(),
            CiBenchError::Synthetic(error) => error.into(),
            CiBenchError::Direct(error) => error.into(),
            CiBenchError::Write(error) => error.into(),
        }
    }
}

impl From<DirectBenchError> for Error {
    fn from(error: DirectBenchError) -> Error {
        match error {
            DirectBenchError::Source(error) => error.into(),
            DirectBenchError::Matrix(error) => error.into(),
            DirectBenchError::Direct(error) => error.into(),
            DirectBenchError::OnTheFly(error) => error.into(),
            DirectBenchError::Prepare(error) => error.into(),
            DirectBenchError::Device(error) => error.into(),
            DirectBenchError::Write(error) => error.into(),
            own => Error::other(own),
        }
    }
}

impl From<DmrgBenchError> for Error {
    fn from(error: DmrgBenchError) -> Error {
        match error {
            DmrgBenchError::Device(error) => error.into(),
            DmrgBenchError::Dmrg(error) => error.into(),
            DmrgBenchError::Write(error) => error.into(),
            own => Error::other(own),
        }
    }
}

impl From<Su3BenchError> for Error {
    fn from(error: Su3BenchError) -> Error {
        match error {
            Su3BenchError::Device(error) => error.into(),
            Su3BenchError::Transform(error) => error.into(),
            Su3BenchError::Labels(error) => error.into(),
            Su3BenchError::Write(error) => error.into(),
            own => Error::other(own),
        }
    }
}

impl From<ResumeBenchError> for Error {
    fn from(error: ResumeBenchError) -> Error {
        match error {
            ResumeBenchError::Io(error) => error.into(),
            own => Error::other(own),
        }
    }
}

impl From<PaperError> for Error {
    fn from(error: PaperError) -> Error {
        match error {
            PaperError::Device(error) => error.into(),
            PaperError::Spmv(error) => error.into(),
            PaperError::Hubbard(error) => error.into(),
            PaperError::Dmrg(error) => error.into(),
            PaperError::Picture(error) => error.into(),
            PaperError::Write(error) => error.into(),
            own => Error::other(own),
        }
    }
}
