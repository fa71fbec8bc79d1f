//! The discrete-event network of stations.
