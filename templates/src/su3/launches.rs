//! The launches of a transformation, in order.

use super::plan::{JJ_THREADS, SlabClass, TileClass, TransformPlan};
use crate::launch::{Access, Element, Launch, LaunchError, Number, Parameter};

impl TransformPlan {
    /// u → Z of one class of slabs.
    ///
    /// # Errors
    /// A grid or a block's shared memory exceeds every card.
    pub fn forward_launch(&self, class: &SlabClass) -> Result<Launch, LaunchError> {
        self.slab_launch("jj_to_irreps", ["u", "z"], class, self.forward_tables())
    }

    /// Z → Y of one class of slabs.
    ///
    /// # Errors
    /// See [`TransformPlan::forward_launch`].
    pub fn back_launch(&self, class: &SlabClass) -> Result<Launch, LaunchError> {
        self.slab_launch("irreps_to_ls", ["z", "y"], class, self.back_tables())
    }

    fn slab_launch(
        &self,
        entry: &str,
        [input, output]: [&str; 2],
        class: &SlabClass,
        tables: Vec<Parameter>,
    ) -> Result<Launch, LaunchError> {
        let mut parameters = self.vectors([input, output]);
        parameters.extend([Parameter::number("first_slab", Number::U32), Parameter::number("half", Number::I32)]);
        parameters.extend(tables);
        let launch = Launch::new(entry, class.slabs, class.threads, 8 * (class.numbers + class.half), parameters)?;
        Ok(self.for_channels(launch))
    }

    /// Z → C of one class of tiles, or C → Z.
    ///
    /// # Errors
    /// More tiles than a grid has blocks.
    pub fn couple_launch(&self, class: &TileClass, back: bool) -> Result<Launch, LaunchError> {
        let mut parameters = self.vectors(["in", "out"]);
        parameters.push(Parameter::number("first_tile", Number::U32));
        parameters.extend(self.tile_tables());
        let entry = format!("couple{}_{}", if back { "_back" } else { "" }, class.rows);
        Ok(self.for_channels(Launch::new(entry, class.tiles, class.threads(), 0, parameters)?))
    }

    /// Y → u.
    ///
    /// # Errors
    /// More quadruples than a grid has blocks.
    pub fn jj_launch(&self) -> Result<Launch, LaunchError> {
        let mut parameters = self.vectors(["y", "u"]);
        parameters.extend(self.jj_tables());
        Ok(self.for_channels(Launch::new("ls_to_jj", self.counts.quadruples, JJ_THREADS, 0, parameters)?))
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
            Parameter::table(input, Element::F64, self.all_numbers()),
            Parameter::memory(output, Element::F64, Access::InOut, self.all_numbers()),
        ]
    }

    fn for_channels(&self, mut launch: Launch) -> Launch {
        launch.grid[1] = self.channels;
        launch
    }
}
