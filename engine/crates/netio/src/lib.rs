//! AF_PACKET ports and the wall-clock driver.
