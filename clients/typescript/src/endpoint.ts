/** Where the server is, who calls, and how its connections are kept. */

import type { SecureContextOptions } from "node:tls";

import type { Interceptor, Transport } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";

import { ownerHeaders } from "./routing.js";

export const DEFAULT_TARGET = "127.0.0.1:50051";
const MAX_MESSAGE_BYTES = 16 << 20;
const KEEPALIVE = {
  pingIntervalMs: 30_000,
  pingTimeoutMs: 10_000,
  pingIdleConnection: true,
  connectTimeoutMs: 5_000,
};

/** A server and the identity to call it with. */
export interface EndpointOptions {
  /** The name to write under. */
  agent?: string;
  /** Sent as a bearer token. */
  apiKey?: string;
  /** Roots or certificates of your own; only for an `https://` target. */
  tls?: SecureContextOptions;
}

/** One connection, which dials at the first call and again after a cut. */
export interface Connection {
  transport: Transport;
  /** End it, and what is open on it. */
  close(): void;
}

export class Endpoint {
  readonly #url: string;
  readonly #tls: SecureContextOptions | undefined;
  readonly #identify: Interceptor;

  /** Throws a `TypeError` for a target without a host, or a key that cannot be a header. */
  constructor(target: string, { agent = "", apiKey = "", tls }: EndpointOptions) {
    this.#url = parse(target);
    this.#tls = tls;
    if (!/^[ -~]*$/.test(apiKey))
      throw new TypeError("apiKey must be printable ASCII: it travels as a header");
    if (tls !== undefined && !this.#url.startsWith("https:")) {
      throw new TypeError("tls is given, but the target is not https://");
    }
    this.#identify = (next) => (request) => {
      // Headers are ASCII, so the agent's name is percent-encoded where it is not.
      if (agent !== "") request.header.set("hbus-agent", encodeURIComponent(agent).replaceAll("%40", "@"));
      if (apiKey !== "") request.header.set("authorization", `Bearer ${apiKey}`);
      for (const [key, value] of Object.entries(request.stream ? {} : ownerHeaders(request.message))) {
        request.header.set(key, value);
      }
      return next(request);
    };
  }

  /** Make a connection of its own, with flow control and a stream limit that it shares with no other. */
  connection(): Connection {
    const sessionManager = new Http2SessionManager(this.#url, KEEPALIVE, this.#tls);
    const transport = createGrpcTransport({
      baseUrl: this.#url,
      sessionManager,
      interceptors: [this.#identify],
      readMaxBytes: MAX_MESSAGE_BYTES,
      writeMaxBytes: MAX_MESSAGE_BYTES,
    });
    return { transport, close: () => sessionManager.abort() };
  }
}

/** `host:port` means plaintext; `https://host[:port]` means TLS. */
function parse(target: string): string {
  const isUrl = /^https?:\/\//.test(target);
  const url = URL.parse(isUrl ? target : `http://${target}`);
  const hasPort = isUrl || /:\d+$/.test(target);
  if (url === null || url.hostname === "" || !hasPort || url.pathname !== "/" || url.username !== "") {
    throw new TypeError(`target must look like host:port or https://host:port, not '${target}'`);
  }
  return url.origin;
}
