//! Constants and header codecs shared with P4; generated from p4src/include.
