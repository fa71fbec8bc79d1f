// SPDX-License-Identifier: Apache-2.0
//! What a run says of the light of ports of routers and stations that are BMv2 processes: they cannot tell the controller themselves.

use std::collections::BTreeMap;

use slotwise_fabric::{ControlEvent, ControlMessage};
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
}

/// The last that was said of each port.
#[derive(Debug, Default)]
pub struct PortBoard {
    light: BTreeMap<(u64, Port), bool>,
}

impl PortBoard {
    /// Tells the controller what is new, if there is one now; one that comes later is told all.
    ///
    /// # Errors
    /// When the controller does not take it.
    pub fn tell(&mut self, news: PortNews, rest: Option<&Rest>) -> Result<(), ControllerError> {
        let PortNews { device_id, port, is_up } = news;
        self.light.insert((device_id, port), is_up);
        rest.map_or(Ok(()), |rest| rest.set_light(device_id, port, is_up))
    }

    /// Tells a controller that has begun anew, for which all ports have light, what it is otherwise.
    ///
    /// # Errors
    /// When it does not take something.
    pub fn tell_all(&self, rest: &Rest) -> Result<(), ControllerError> {
        let mut dark = self.light.iter().filter(|(_, is_up)| !**is_up);
        dark.try_for_each(|(&(device_id, port), &is_up)| rest.set_light(device_id, port, is_up))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_light_of_routers_is_told() {
        let news = |device_id, message| {
            PortNews::of(&ControlEvent {
                at_ns: 0,
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
}
