//! The kernels of a transformation with their parameters, and their launches, in order.

use super::plan::{JJ_THREADS, SlabClass, TileClass, TransformPlan};
use super::text::Ways;
use crate::launch::{Access, Launch, LaunchError, Number, Parameter};
use crate::prototype::Prototype;

impl TransformPlan {
    /// The kernels of a text, in its order.
    pub(super) fn kernels(&self, ways: Ways) -> Vec<Prototype> {
        let (forward, back) = (ways != Ways::Back, ways != Ways::Forward);
        let mut kernels = Vec::new();
        kernels.extend(forward.then(|| self.forward_kernel()));
        kernels.extend(back.then(|| self.back_kernel()));
        kernels.extend(back.then(|| self.jj_kernel()));
        for class in &self.tiles {
            kernels.extend(forward.then(|| self.couple_kernel(class, false)));
            kernels.extend(back.then(|| self.couple_kernel(class, true)));
        }
        kernels
    }

    fn forward_kernel(&self) -> Prototype {
        self.slab_kernel("jj_to_irreps", ["u", "z"], self.forward_tables())
    }

    fn back_kernel(&self) -> Prototype {
        self.slab_kernel("irreps_to_ls", ["z", "y"], self.back_tables())
    }

    fn slab_kernel(&self, entry: &str, vectors: [&str; 2], tables: Vec<Parameter>) -> Prototype {
        let mut parameters = self.vectors(vectors);
        parameters.extend([Parameter::number("first_slab", Number::U32), Parameter::number("half", Number::I32)]);
        parameters.extend(tables);
        Prototype::new(entry, parameters)
    }

    fn couple_kernel(&self, class: &TileClass, back: bool) -> Prototype {
        let mut parameters = self.vectors(["in", "out"]);
        parameters.push(Parameter::number("first_tile", Number::U32));
        parameters.extend(self.tile_tables());
        Prototype::new(format!("couple{}_{}", if back { "_back" } else { "" }, class.rows), parameters)
    }

    fn jj_kernel(&self) -> Prototype {
        let mut parameters = self.vectors(["y", "u"]);
        parameters.extend(self.jj_tables());
        Prototype::new("ls_to_jj", parameters)
    }

    /// u → Z of one class of slabs.
    ///
    /// # Errors
    /// A grid or a block's shared memory exceeds every card.
    pub fn forward_launch(&self, class: &SlabClass) -> Result<Launch, LaunchError> {
        self.slab_launch(self.forward_kernel(), class)
    }

    /// Z → Y of one class of slabs.
    ///
    /// # Errors
    /// See [`TransformPlan::forward_launch`].
    pub fn back_launch(&self, class: &SlabClass) -> Result<Launch, LaunchError> {
        self.slab_launch(self.back_kernel(), class)
    }

    fn slab_launch(&self, kernel: Prototype, class: &SlabClass) -> Result<Launch, LaunchError> {
        Ok(self.for_channels(kernel.launch(class.slabs, class.threads, 8 * (class.numbers + class.half))?))
    }

    /// Z → C of one class of tiles, or C → Z.
    ///
    /// # Errors
    /// More tiles than a grid has blocks.
    pub fn couple_launch(&self, class: &TileClass, back: bool) -> Result<Launch, LaunchError> {
        Ok(self.for_channels(self.couple_kernel(class, back).launch(class.tiles, class.threads(), 0)?))
    }

    /// Y → u.
    ///
    /// # Errors
    /// More quadruples than a grid has blocks.
    pub fn jj_launch(&self) -> Result<Launch, LaunchError> {
        Ok(self.for_channels(self.jj_kernel().launch(self.counts.quadruples, JJ_THREADS, 0)?))
    }

    /// A launch of each kernel, in the order of the text's entries, for the largest slabs.
    ///
    /// # Errors
    /// Errors of each launch.
    pub fn launches(&self) -> Result<Vec<Launch>, LaunchError> {
        let mut launches = Vec::new();
        if let Some(largest) = self.slabs.last() {
            launches.extend([self.forward_launch(largest)?, self.back_launch(largest)?]);
        }
        launches.push(self.jj_launch()?);
        for class in &self.tiles {
            launches.extend([self.couple_launch(class, false)?, self.couple_launch(class, true)?]);
        }
        Ok(launches)
    }

    /// A launch of a class writes only its part of the vector; the rest must be kept.
    fn vectors(&self, [input, output]: [&str; 2]) -> Vec<Parameter> {
        vec![
            Parameter::values(input, self.scalar, Access::In, self.all_numbers()),
            Parameter::values(output, self.scalar, Access::InOut, self.all_numbers()),
        ]
    }

    fn for_channels(&self, mut launch: Launch) -> Launch {
        launch.grid[1] = self.channels;
        launch
    }
}
