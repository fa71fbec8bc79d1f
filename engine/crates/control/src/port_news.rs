// SPDX-License-Identifier: Apache-2.0
//! What a run says of the light of ports of routers and stations that are BMv2 processes: they cannot tell the controller themselves.

use std::collections::BTreeMap;

use slotwise_kinds::{ControlEvent, ControlMessage};
use slotwise_p4::Port;
use slotwise_scenario::Device;

use crate::controller::ControllerError;
use crate::rest::Rest;

/// Whether a router's or station's port has light now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortNews {
    device_id: u64,
    port: Port,
    is_up: bool,
}

impl PortNews {
    /// What an event of the fabric says of a router's or station's port, if it does. An edge's program sees light itself.
    pub fn of(event: &ControlEvent) -> Option<PortNews> {
        let device_id = event.device_id;
        match event.message {
            ControlMessage::Link { port, is_up } if !Device::from_id(device_id)?.kind().is_slotted => {
                Some(PortNews { device_id, port, is_up })
            }
            _ => None,
        }
    }

    /// Tells a controller.
    ///
    /// # Errors
    /// When it does not take it.
    pub fn tell(&self, rest: &Rest) -> Result<(), ControllerError> {
        rest.set_light(self.device_id, self.port, self.is_up)
    }

    #[cfg(test)]
    pub(crate) fn new(device_id: u64, port: Port, is_up: bool) -> PortNews {
        PortNews { device_id, port, is_up }
    }
}

/// The last that was said of each port.
#[derive(Debug, Default)]
pub struct PortBoard {
    light: BTreeMap<(u64, Port), bool>,
}

impl PortBoard {
    /// Notes what is new.
    pub fn note(&mut self, news: PortNews) {
        self.light.insert((news.device_id, news.port), news.is_up);
    }

    /// What a controller that begins anew, for which all ports have light, has to be told.
    pub fn dark(&self) -> impl Iterator<Item = PortNews> {
        let dark = self.light.iter().filter(|(_, is_up)| !**is_up);
        dark.map(|(&(device_id, port), &is_up)| PortNews { device_id, port, is_up })
    }
}

#[cfg(test)]
mod tests {
    use slotwise_units::Instant;

    use super::*;

    #[test]
    fn only_light_of_routers_is_told() {
        let news = |device_id, message| {
            PortNews::of(&ControlEvent {
                at: Instant::ZERO,
                device_id,
                message,
            })
        };
        let dark = || ControlMessage::Link { port: 2, is_up: false };
        let told = PortNews {
            device_id: 2003,
            port: 2,
            is_up: false,
        };
        assert_eq!(news(2003, dark()), Some(told));
        assert_eq!(news(1, dark()), None, "an edge");
        assert_eq!(news(2003, ControlMessage::Packet(Vec::new())), None);
    }

    #[test]
    fn a_controller_that_begins_is_told_of_what_is_dark() {
        let mut board = PortBoard::default();
        for (port, is_up) in [(1, false), (2, false), (1, true), (3, true)] {
            board.note(PortNews::new(3001, port, is_up));
        }
        assert_eq!(board.dark().collect::<Vec<_>>(), [PortNews::new(3001, 2, false)]);
    }
}
