// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import com.google.protobuf.ByteString;
import com.google.protobuf.TextFormat;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import p4.config.v1.P4InfoOuterClass.P4Info;
import p4.v1.P4RuntimeOuterClass.ForwardingPipelineConfig;

/** A compiled P4 program: what the switch runs, its P4Info, and a cookie that tells it from any other. */
public final class Pipeline {
    private final ForwardingPipelineConfig config;
    private final ProgramInfo info;

    private Pipeline(ForwardingPipelineConfig config) {
        this.config = config;
        this.info = new ProgramInfo(config.getP4Info());
    }

    /**
     * Reads a program that p4c compiled for BMv2.
     *
     * @throws IOException if a file cannot be read, or the second is not P4Info in text form
     */
    public static Pipeline read(Path bmv2Json, Path p4InfoText) throws IOException {
        return of(Files.readAllBytes(bmv2Json), parse(p4InfoText));
    }

    static Pipeline of(byte[] deviceConfig, P4Info info) {
        return new Pipeline(ForwardingPipelineConfig.newBuilder()
                .setP4Info(info)
                .setP4DeviceConfig(ByteString.copyFrom(deviceConfig))
                .setCookie(ForwardingPipelineConfig.Cookie.newBuilder().setCookie(hash(deviceConfig, info)))
                .build());
    }

    private static P4Info parse(Path file) throws IOException {
        P4Info.Builder info = P4Info.newBuilder();
        try {
            TextFormat.merge(Files.readString(file, StandardCharsets.UTF_8), info);
        } catch (TextFormat.ParseException e) {
            throw new IOException(file + ": expected P4Info in text form: line " + e.getLine() + ": " + e.getMessage(), e);
        }
        return info.build();
    }

    private static long hash(byte[] deviceConfig, P4Info info) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            digest.update(deviceConfig);
            digest.update(info.toByteArray());
            return ByteBuffer.wrap(digest.digest()).getLong();
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("missing SHA-256", e);
        }
    }

    ForwardingPipelineConfig config() {
        return config;
    }

    long cookie() {
        return config.getCookie().getCookie();
    }

    ProgramInfo info() {
        return info;
    }
}
