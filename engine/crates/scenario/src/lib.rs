//! Scenario files: parsing, validation, the model.
