// SPDX-License-Identifier: Apache-2.0
//! Memory of machine code.

use cranelift_jit::JITModule;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// A module that frees its memory when it is dropped, also where compiling ends early; Cranelift's own keeps it.
pub(super) struct Module(ManuallyDrop<JITModule>);

impl Module {
    pub fn new(module: JITModule) -> Module {
        Module(ManuallyDrop::new(module))
    }
}

impl Deref for Module {
    type Target = JITModule;

    fn deref(&self) -> &JITModule {
        &self.0
    }
}

impl DerefMut for Module {
    fn deref_mut(&mut self) -> &mut JITModule {
        &mut self.0
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: it is not used after this.
        let module = unsafe { ManuallyDrop::take(&mut self.0) };
        // SAFETY: who has addresses of the code keeps this value: see `Code`.
        unsafe { module.free_memory() };
    }
}
