// SPDX-License-Identifier: Apache-2.0
//! Values by port of a switch.

use crate::Port;

/// Values of ports from a first port on.
pub struct Ports<T> {
    first: Port,
    values: Vec<Option<T>>,
}

impl<T> Ports<T> {
    /// Creates a map without values, for ports from the first one on.
    pub const fn from(first: Port) -> Ports<T> {
        let values = Vec::new();
        Ports { first, values }
    }

    /// Sets the value of a port.
    pub fn add(&mut self, port: Port, value: T) {
        let place = usize::from(port - self.first);
        if place >= self.values.len() {
            self.values.resize_with(place + 1, || None);
        }
        self.values[place] = Some(value);
    }

    /// Value of a port, if it has one.
    #[inline]
    pub fn get(&self, port: Port) -> Option<&T> {
        let place = port.checked_sub(self.first)?;
        self.values.get(usize::from(place))?.as_ref()
    }

    /// Value of a port, mutable.
    #[inline]
    pub fn get_mut(&mut self, port: Port) -> Option<&mut T> {
        let place = port.checked_sub(self.first)?;
        self.values.get_mut(usize::from(place))?.as_mut()
    }

    /// Ports, with or without a value.
    pub fn numbers(&self) -> impl Iterator<Item = Port> + use<T> {
        self.first..self.first + self.values.len() as Port
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_below_the_first_and_without_a_value_have_none() {
        let mut ports = Ports::from(256);
        ports.add(258, 'b');
        ports.add(256, 'a');
        let found = [0, 255, 256, 257, 258, 259, u16::MAX].map(|port| ports.get(port).copied());
        assert_eq!(found, [None, None, Some('a'), None, Some('b'), None, None]);
        *ports.get_mut(258).unwrap() = 'c';
        assert_eq!(ports.get(258), Some(&'c'));
        assert_eq!(ports.get_mut(255), None);
        assert_eq!(ports.numbers().collect::<Vec<_>>(), [256, 257, 258]);
    }
}
