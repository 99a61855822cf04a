//! Fewer orbitals: cores that stay doubly occupied, active ones, deleted virtuals.
//!
//! Removing orbitals i that are doubly occupied in every determinant gives (Helgaker, Jørgensen and Olsen 2000,
//! section 12.5) E_core += 2 Σ h_ii + Σ_ij [2 (ii|jj) − (ij|ij)] and h_pq += Σ_i [2 (pq|ii) − (pi|iq)]. Deleted orbitals
//! are empty in every determinant and contribute nothing. Where each spin has its own orbitals, one electron of each spin is in the
//! orbitals of the core, whose field on an electron of spin σ is Σ_i [(pq|ii)_σσ − (pi|iq)_σσ + (pq|ii)_στ], τ the other spin.

use super::integrals::{BetaIntegrals, Integrals};
use super::orbital_number::OrbitalNumber;
use super::spec::CiSpec;
use eigenforge_core::operator::Spin;

/// Which orbitals of a file are doubly occupied and which are active, both ascending and from 0; the others are empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrbitalWindow {
    /// Doubly occupied in every determinant.
    pub core: Vec<usize>,
    /// Those of the determinants.
    pub active: Vec<usize>,
    /// Orbitals of the file.
    pub all: usize,
}

/// Why orbitals cannot be removed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WindowError {
    /// A frozen orbital would not be doubly occupied.
    #[error(
        "{frozen} orbitals cannot be frozen: {up} α and {down} β electrons fill at most {most} twice",
        most = up.min(down)
    )]
    Frozen {
        /// Orbitals to freeze.
        frozen: usize,
        /// α electrons.
        up: usize,
        /// β electrons.
        down: usize,
    },
    /// More orbitals than there are, or fewer than the electrons need.
    #[error("{kept} orbitals cannot be kept: there are {orbitals}, and {electrons} electrons of one spin need as many")]
    Kept {
        /// Orbitals to keep.
        kept: usize,
        /// Available orbitals.
        orbitals: usize,
        /// Electrons of the majority spin.
        electrons: usize,
    },
    /// An active orbital that there is not.
    #[error("active: expected orbitals from 1 to {orbitals}, the file's, each once, found {found}")]
    Active {
        /// Orbitals of the file.
        orbitals: usize,
        /// "0", "27", "4 twice" or "none".
        found: String,
    },
    /// An orbital with one electron that is not active.
    #[error(
        "active: orbital {orbital} has one electron in the reference ({up} α and {down} β electrons in the lowest orbitals): expected it among \
         the active ones"
    )]
    Open {
        /// Its number.
        orbital: usize,
        /// α electrons.
        up: usize,
        /// β electrons.
        down: usize,
    },
}

impl OrbitalWindow {
    /// The lowest `frozen` orbitals, of `all`, doubly occupied, and the next `kept` active; without a number all of them. There are `up` α and
    /// `down` β electrons.
    ///
    /// # Errors
    /// A core that is not full, more orbitals than there are, fewer than the electrons need.
    pub fn lowest(
        all: usize,
        frozen: usize,
        kept: Option<usize>,
        (up, down): (usize, usize),
    ) -> Result<OrbitalWindow, WindowError> {
        if frozen > up.min(down) || frozen > all {
            return Err(WindowError::Frozen { frozen, up, down });
        }
        let (orbitals, electrons) = (all - frozen, up.max(down) - frozen);
        if let Some(kept) = kept.filter(|kept| *kept > orbitals || *kept < electrons.max(1)) {
            return Err(WindowError::Kept { kept, orbitals, electrons });
        }
        let end = frozen + kept.unwrap_or(orbitals);
        Ok(OrbitalWindow { core: (0..frozen).collect(), active: (frozen..end).collect(), all })
    }

    /// A list of active orbitals, numbered from 1. Of the others those that two electrons have in the reference, in which the electrons are in
    /// the lowest orbitals of the file, are doubly occupied.
    ///
    /// # Errors
    /// Numbers that are not those of orbitals; an orbital with one electron that is not listed.
    pub fn listed(all: usize, list: &[usize], (up, down): (usize, usize)) -> Result<OrbitalWindow, WindowError> {
        let refused = |found: String| Err(WindowError::Active { orbitals: all, found });
        let mut active = list.to_vec();
        active.sort_unstable();
        if active.is_empty() {
            return refused("none".into());
        }
        if let Some(wrong) = active.iter().find(|number| **number < 1 || **number > all) {
            return refused(wrong.to_string());
        }
        if let Some(twice) = active.windows(2).find(|two| two[0] == two[1]) {
            return refused(format!("{} twice", twice[0]));
        }
        active.iter_mut().for_each(|number| *number -= 1);
        let (full, reached) = (up.min(down), up.max(down));
        if let Some(open) = (full..reached.min(all)).find(|orbital| !active.contains(orbital)) {
            return Err(WindowError::Open { orbital: open + 1, up, down });
        }
        let core: Vec<usize> = (0..full.min(all)).filter(|orbital| !active.contains(orbital)).collect();
        let electrons = reached - core.len();
        if active.len() < electrons {
            return Err(WindowError::Kept { kept: active.len(), orbitals: all, electrons });
        }
        Ok(OrbitalWindow { core, active, all })
    }

    /// Words for a line that describes the space: nothing where all orbitals are active.
    pub fn describe(&self) -> String {
        let first = self.core.len();
        let core = if first == 0 { String::new() } else { format!(", {first} orbitals frozen") };
        let is_run =
            self.core.iter().copied().eq(0..first) && self.active.iter().copied().eq(first..first + self.active.len());
        if is_run {
            return core;
        }
        let numbers: Vec<String> = self.active.iter().map(|orbital| (orbital + 1).to_string()).collect();
        format!("{core}, active {}", numbers.join(" "))
    }
}

impl CiSpec {
    /// The window that a file asks for, of `all` orbitals with `up` α and `down` β electrons.
    ///
    /// # Errors
    /// As of [`OrbitalWindow::lowest`] and [`OrbitalWindow::listed`].
    pub fn window(&self, all: usize, electrons: (usize, usize)) -> Result<OrbitalWindow, WindowError> {
        match &self.active {
            Some(list) => OrbitalWindow::listed(all, list, electrons),
            None => OrbitalWindow::lowest(all, self.frozen, self.orbitals, electrons),
        }
    }
}

impl<T: OrbitalNumber> Integrals<T> {
    /// Those of the active orbitals of a window of these, with its core folded into the core energy and h.
    pub fn in_window(&self, orbitals: &OrbitalWindow) -> Integrals<T> {
        let OrbitalWindow { core, active, .. } = orbitals;
        let mut window = Integrals::zeros(active.len());
        window.electrons = self.electrons - 2 * core.len();
        window.two_sz = self.two_sz;
        if !self.irreps.is_empty() {
            window.irreps = active.iter().map(|orbital| self.irreps[*orbital]).collect();
        }
        window.core = self.core + self.core_energy(core);
        (window.one, window.two) = self.of_spin_in(Spin::Up, orbitals);
        if self.is_unrestricted() {
            let (one, two) = self.of_spin_in(Spin::Down, orbitals);
            let pairs = T::pair_list(active.len()).into_iter();
            let pairs: Vec<usize> = pairs.map(|(p, q)| T::pair(self.orbitals, active[p], active[q])).collect();
            let mixed = pairs.iter().flat_map(|left| pairs.iter().map(|right| self.between(*left, *right))).collect();
            window.beta = Some(Box::new(BetaIntegrals { one, two, mixed }));
        }
        window
    }

    /// Σ_σi h_ii + Σ_σij ½ [(ii|jj) − (ij|ji)] + Σ_ij (ii|jj) of both spins: that of two electrons in each core orbital.
    fn core_energy(&self, core: &[usize]) -> f64 {
        let mut energy = 0.0;
        for i in core.iter().copied() {
            for spin in [Spin::Up, Spin::Down] {
                let own = self.of_spin(spin);
                let others = core.iter().map(|j| (own.two(i, i, *j, *j) - own.two(i, *j, *j, i)).real());
                energy += own.one(i, i).real() + 0.5 * others.sum::<f64>();
            }
            energy += self.felt(Spin::Up, T::pair(self.orbitals, i, i), core.iter().copied()).real();
        }
        energy
    }

    /// h_pq with the field of the core, and (pq|rs), of electrons of one spin in the active orbitals.
    fn of_spin_in(&self, spin: Spin, OrbitalWindow { core, active, .. }: &OrbitalWindow) -> (Vec<T>, Vec<T>) {
        let (all, pairs) = (self.of_spin(spin), T::pair_list(active.len()));
        let pairs: Vec<(usize, usize)> = pairs.into_iter().map(|(p, q)| (active[p], active[q])).collect();
        let field = |(p, q): &(usize, usize)| {
            let same = core.iter().map(|i| all.two(*p, *q, *i, *i) - all.two(*p, *i, *i, *q)).sum::<T>();
            all.one(*p, *q) + same + self.felt(spin, T::pair(self.orbitals, *p, *q), core.iter().copied())
        };
        let of_pair = |(left, (p, q)): (usize, &(usize, usize))| {
            pairs[..=left].iter().map(|(r, s)| all.two(*p, *q, *r, *s)).collect::<Vec<T>>()
        };
        (pairs.iter().map(field).collect(), pairs.iter().enumerate().flat_map(of_pair).collect())
    }
}
