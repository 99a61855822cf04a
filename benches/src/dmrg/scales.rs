//! Random chains whose terms differ in size by orders, as model files.
//!
//! In: a seed and a number. Out: a file of 3 to 10 sites, with spins ½ to 5/2, electrons, t-J electrons, spinless fermions, qubits,
//! bosons or two of these. Couplings of one size make things move; beside them are terms of 1e-12 to 1e12 in the same file: penalties on
//! neighbours, on charges and on plaquettes, a large U, weak fields, and terms that act on nothing in the sector.

use crate::dice::Dice;
use std::fmt::Write as _;

/// Sites of one kind in the text of a model file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Spin(u32),
    Electron,
    Tj,
    Spinless,
    Qubit,
    Boson(u32),
}

impl Kind {
    fn name(self) -> String {
        match self {
            Kind::Spin(two_s) if two_s % 2 == 0 => format!("spin {}", two_s / 2),
            Kind::Spin(two_s) => format!("spin {two_s}/2"),
            Kind::Electron => "electron".into(),
            Kind::Tj => "tj".into(),
            Kind::Spinless => "spinless".into(),
            Kind::Qubit => "qubit".into(),
            Kind::Boson(cut) => format!("boson {cut}"),
        }
    }

    /// The operator that penalties and fields count.
    fn number(self) -> &'static str {
        match self {
            Kind::Spin(_) => "Sz",
            Kind::Qubit => "Z",
            _ => "n",
        }
    }

    /// What moves between two sites of this kind, in pairs of operators.
    fn hops(self) -> &'static [&'static str] {
        match self {
            Kind::Spin(_) => &["S+ S-"],
            Kind::Electron | Kind::Tj => &["cdag_up c_up", "cdag_dn c_dn"],
            Kind::Spinless => &["cdag c"],
            Kind::Qubit => &["X X"],
            Kind::Boson(_) => &["bdag b"],
        }
    }

    fn is_fermion(self) -> bool {
        matches!(self, Kind::Electron | Kind::Tj | Kind::Spinless)
    }
}

/// A file that grows.
struct File {
    dice: Dice,
    sites: Vec<Kind>,
    unit: f64,
    terms: String,
}

impl File {
    /// A number of size `scale`, of either sign.
    fn size(&mut self, scale: f64) -> f64 {
        let number = self.dice.number();
        let number = if number.abs() < 0.1 { 0.1f64.copysign(number) } else { number };
        self.unit * scale * number
    }

    fn term(&mut self, operators: &str, on: &[Vec<usize>], coefficients: &[f64], conjugate: bool) {
        // Writing to a String cannot fail.
        let _ = write!(
            self.terms,
            "[[term]]\noperators = \"{operators}\"\non = {on:?}\ncoefficient = {coefficients:?}\nconjugate = {conjugate}\n\n"
        );
    }

    /// Lists of `count` neighbours.
    fn neighbours(&self, count: usize) -> Vec<Vec<usize>> {
        (0..(self.sites.len() + 1).saturating_sub(count)).map(|first| (first..first + count).collect()).collect()
    }

    /// The number operators of sites, with a coefficient for each list.
    fn numbers(&mut self, on: &[Vec<usize>], coefficients: &[f64]) {
        for (on, coefficient) in on.iter().zip(coefficients) {
            let operators: Vec<&str> = on.iter().map(|site| self.sites[*site].number()).collect();
            self.term(&operators.join(" "), std::slice::from_ref(on), &[*coefficient], false);
        }
    }

    /// What moves.
    fn moving(&mut self) {
        for (i, j) in self.pairs() {
            for hop in self.sites[i].hops() {
                let size = self.size(1.0);
                self.term(hop, &[vec![i, j]], &[size], self.sites[i] != Kind::Qubit);
            }
        }
        let transverse: Vec<usize> = (0..self.sites.len()).filter(|site| self.sites[*site] == Kind::Qubit).collect();
        for site in transverse {
            let size = self.size(1.0);
            self.term("X", &[vec![site]], &[size], false);
        }
    }

    /// Nearest sites of one kind.
    fn pairs(&self) -> Vec<(usize, usize)> {
        let next = |i: usize| (i + 1..self.sites.len()).find(|j| self.sites[*j] == self.sites[i]).map(|j| (i, j));
        (0..self.sites.len()).filter_map(next).collect()
    }

    /// Couplings and fields as large as what moves, or weak ones.
    fn ordinary(&mut self) {
        let weak = if self.dice.one_in(4) { 10f64.powi(-1 - self.dice.below(9) as i32) } else { 1.0 };
        if self.dice.one_in(2) {
            let on = self.neighbours(2);
            let sizes: Vec<f64> = on.iter().map(|_| self.size(1.0)).collect();
            self.numbers(&on, &sizes);
        }
        if self.dice.one_in(2) {
            let on = self.neighbours(1);
            let sizes: Vec<f64> = on.iter().map(|_| self.size(weak)).collect();
            self.numbers(&on, &sizes);
        }
    }

    /// A term of another size.
    fn extreme(&mut self) {
        let orders = if self.dice.one_in(4) { 12 } else { 8 };
        let large = 10f64.powi(2 + self.dice.below(orders - 1) as i32);
        match self.dice.below(6) {
            0 => self.penalty_on_neighbours(large),
            1 => self.penalty_on_charge(large),
            2 => self.penalty_on_plaquettes(large),
            3 => self.large_u(large),
            4 => {
                // Three bodies, which few particles are not.
                let on = self.neighbours(3);
                let size = self.size(large);
                self.numbers(&on, &vec![size; on.len()]);
            }
            _ => {
                let on = self.neighbours(1);
                let sizes: Vec<f64> = on.iter().map(|_| self.size(1.0 / large)).collect();
                self.numbers(&on, &sizes);
            }
        }
    }

    /// Λ n n, or Λ (1 − Z) (1 − Z) / 4 of qubits.
    fn penalty_on_neighbours(&mut self, large: f64) {
        let size = self.size(large).abs();
        for pair in self.neighbours(2) {
            if self.dice.one_in(5) {
                continue;
            }
            let is_qubit = |site: &usize| self.sites[*site] == Kind::Qubit;
            if pair.iter().all(is_qubit) {
                let singles = [vec![pair[0]], vec![pair[1]]];
                self.numbers(&singles, &[-0.25 * size; 2]);
                self.numbers(&[pair], &[0.25 * size]);
            } else {
                self.numbers(&[pair], &[size]);
            }
        }
    }

    /// Λ (Σ q − Q)², without its constant.
    fn penalty_on_charge(&mut self, large: f64) {
        let (size, sites) = (self.size(large).abs(), self.sites.len());
        let wanted = self.dice.below(sites) as f64 * 0.5;
        let kinds = self.sites.clone();
        for (i, kind) in kinds.iter().enumerate() {
            self.term(&[kind.number(); 2].join(" "), &[vec![i, i]], &[size], false);
            self.numbers(&[vec![i]], &[-2.0 * wanted * size]);
            let pairs: Vec<Vec<usize>> = (i + 1..sites).map(|j| vec![i, j]).collect();
            self.numbers(&pairs, &vec![2.0 * size; pairs.len()]);
        }
    }

    /// −Λ Z Z Z Z of qubits (and X X X X, which commutes with it on an even overlap), −Λ of four spins, or Λ n n n of others.
    fn penalty_on_plaquettes(&mut self, large: f64) {
        let size = -self.size(large).abs();
        let count = 4.min(self.sites.len());
        let on: Vec<Vec<usize>> = self.neighbours(count).into_iter().step_by(2).collect();
        for (k, plaquette) in on.into_iter().enumerate() {
            if k % 2 == 1 && plaquette.iter().all(|site| self.sites[*site] == Kind::Qubit) {
                self.term(&vec!["X"; count].join(" "), &[plaquette], &[size], false);
            } else {
                self.numbers(&[plaquette], &[size]);
            }
        }
    }

    fn large_u(&mut self, large: f64) {
        let size = self.size(large).abs();
        for site in 0..self.sites.len() {
            match self.sites[site] {
                Kind::Electron => self.term("n_up n_dn", &[vec![site, site]], &[size], false),
                Kind::Boson(_) | Kind::Spin(_) => {
                    let number = self.sites[site].number();
                    self.term(&[number; 2].join(" "), &[vec![site, site]], &[size], false);
                    self.numbers(&[vec![site]], &[-size]);
                }
                _ => {}
            }
        }
    }

    /// The charges that all terms conserve, with values.
    fn sector(&mut self) -> String {
        let of = |is: fn(&Kind) -> bool| self.sites.iter().filter(|kind| is(kind)).count();
        let (fermions, bosons) = (of(|kind| kind.is_fermion()), of(|kind| matches!(kind, Kind::Boson(_))));
        let spinless = of(|kind| *kind == Kind::Spinless);
        let moments: u32 = self.sites.iter().map(|kind| if let Kind::Spin(two_s) = kind { *two_s } else { 0 }).sum();
        let mut text = String::new();
        let electrons = fermions - spinless;
        if self.sites.iter().all(|kind| *kind == Kind::Electron) {
            // A third of them have nobody of spin down.
            let up = 1 + self.dice.below(fermions);
            let down = if self.dice.one_in(3) { 0 } else { self.dice.below(fermions + 1) };
            let _ = writeln!(text, "up = {up}\ndown = {down}");
        } else if fermions > 0 {
            let particles = if self.dice.one_in(4) { self.dice.below(3) } else { self.dice.below(fermions) + 1 };
            let particles = particles.min(fermions);
            let _ = writeln!(text, "particles = {particles}");
            if electrons > 0 || moments > 0 {
                let parity = if spinless > 0 { moments } else { moments + particles as u32 };
                let _ = writeln!(text, "two_sz = {}", parity % 2);
            }
        } else if moments > 0 {
            let shift = if self.dice.one_in(6) { moments / 2 * 2 } else { 2 * self.dice.below(2) as u32 };
            let two_sz = (moments % 2 + shift).min(moments);
            let _ = writeln!(text, "two_sz = {two_sz}");
        }
        if bosons > 0 {
            let _ = writeln!(text, "bosons = {}", self.dice.below(bosons + 1));
        }
        text
    }

    fn dmrg(&mut self) -> String {
        let states = if self.dice.one_in(8) { 4 + self.dice.below(12) } else { 128 };
        let mut text = format!("[dmrg]\nstates = {states}\nseed = {}\n", 1 + self.dice.below(1000));
        if self.dice.one_in(5) {
            let _ = writeln!(text, "targets = {}", 2 + self.dice.below(2));
        }
        if self.dice.one_in(6) {
            text += "noise = 0\n";
        }
        text
    }
}

/// The sites of a case.
fn sites(dice: &mut Dice) -> Vec<Kind> {
    let alternating = |a: Kind, b: Kind, count: usize| (0..count).map(|k| if k % 2 == 0 { a } else { b }).collect();
    match dice.below(10) {
        0 => vec![Kind::Spin(1); 4 + dice.below(7)],
        1 => vec![Kind::Spin(2 + dice.below(4) as u32); 3 + dice.below(2)],
        2 => vec![Kind::Electron; 3 + dice.below(3)],
        3 => vec![Kind::Spinless; 4 + dice.below(6)],
        4 | 5 => vec![Kind::Qubit; 3 + dice.below(6)],
        6 => vec![Kind::Boson(2 + dice.below(2) as u32); 3 + dice.below(3)],
        7 => vec![Kind::Tj; 3 + dice.below(4)],
        8 => alternating(Kind::Electron, Kind::Spin(1), 4 + dice.below(3)),
        _ => alternating(Kind::Spinless, Kind::Spin(1 + dice.below(5) as u32), 4 + dice.below(3)),
    }
}

/// A case as a model file.
pub fn model_file(seed: u64, case: u64) -> String {
    let mut dice = Dice::of_case(seed ^ 0x5ca1e5, case);
    let sites = sites(&mut dice);
    let unit = if dice.one_in(4) { [1e-12, 1e-6, 1e-3, 1e3, 1e12][dice.below(5)] } else { 1.0 };
    let mut file = File { dice, sites, unit, terms: String::new() };
    file.moving();
    file.ordinary();
    for _ in 0..[0, 1, 1, 1, 2][file.dice.below(5)] {
        file.extreme();
    }
    let names: Vec<String> = file.sites.iter().map(|kind| format!("\"{}\"", kind.name())).collect();
    let (count, sector, dmrg) = (file.sites.len(), file.sector(), file.dmrg());
    let sector = if sector.is_empty() { sector } else { format!("[sector]\n{sector}\n") };
    format!(
        "[model]\nname = \"terms\"\nsite = [{}]\n\n[lattice]\nsites = {count}\nedges = []\n\n{}{sector}{dmrg}",
        names.join(", "),
        file.terms
    )
}
