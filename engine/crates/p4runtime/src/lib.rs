//! P4Runtime server for many devices.
