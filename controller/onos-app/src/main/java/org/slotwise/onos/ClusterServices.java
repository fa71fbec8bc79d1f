// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import org.onosproject.cluster.ClusterService;
import org.onosproject.cluster.LeadershipService;
import org.onosproject.net.config.NetworkConfigRegistry;
import org.onosproject.net.device.DeviceService;
import org.onosproject.net.packet.PacketService;
import org.onosproject.store.cluster.messaging.ClusterCommunicationService;
import org.onosproject.store.service.StorageService;

/** ONOS's services that a member needs. */
final class ClusterServices {
    final NetworkConfigRegistry configuration;
    final ClusterService cluster;
    final LeadershipService leadership;
    final ClusterCommunicationService communication;
    final DeviceService devices;
    final PacketService packets;
    final StorageService storage;

    ClusterServices(NetworkConfigRegistry configuration, ClusterService cluster, LeadershipService leadership,
            ClusterCommunicationService communication, DeviceService devices, PacketService packets,
            StorageService storage) {
        this.configuration = configuration;
        this.cluster = cluster;
        this.leadership = leadership;
        this.communication = communication;
        this.devices = devices;
        this.packets = packets;
        this.storage = storage;
    }
}
