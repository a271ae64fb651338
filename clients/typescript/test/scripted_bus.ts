/** A server over real sockets that answers as a test says. */

import { createServer, type Http2Server, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";

import type { DescService } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";

import { BusService, type Client, connect, type ConnectOptions, MemoryService } from "@hindsight-bus/client";

import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "../dist/gen/google/rpc/error_details_pb.js";

export class ScriptedBus implements AsyncDisposable {
  readonly target: string;
  readonly #server: Http2Server;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #clients: Client[] = [];

  private constructor(server: Http2Server) {
    this.#server = server;
    this.target = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on("session", (session) => {
      this.#sessions.add(session);
      session.on("error", () => {}); // it was cut
      session.on("close", () => this.#sessions.delete(session));
    });
  }

  /** Serve what is given; everything else is UNIMPLEMENTED. */
  static async serve(
    memories: Partial<ServiceImpl<typeof MemoryService>>,
    bus: Partial<ServiceImpl<typeof BusService>> = {},
  ): Promise<ScriptedBus> {
    const server = createServer(
      connectNodeAdapter({
        routes: (router) => {
          const service = <S extends DescService>(of: S, by: Partial<ServiceImpl<S>>) =>
            router.service(of, by);
          service(MemoryService, memories);
          service(BusService, bus);
        },
      }),
    );
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new ScriptedBus(server);
  }

  connect(options: ConnectOptions = {}): Client {
    const client = connect(this.target, { agent: "support", ...options });
    this.#clients.push(client);
    return client;
  }

  /** Cut every connection at once. */
  cut(): void {
    for (const session of this.#sessions) session.socket.resetAndDestroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.close();
    for (const session of this.#sessions) session.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** What the server throws: a status with rich details. */
export function refuse(
  code: Code,
  reason = "",
  details: { field?: string; retryAfterS?: number } = {},
): ConnectError {
  const { field, retryAfterS } = details;
  const error = new ConnectError("refused", code);
  if (reason !== "") {
    error.details.push({
      desc: ErrorInfoSchema,
      value: { reason, domain: "hbus", metadata: { incident: "42" } },
    });
  }
  if (field !== undefined) {
    const fieldViolations = [{ field, description: "is wrong" }];
    error.details.push({ desc: BadRequestSchema, value: { fieldViolations } });
  }
  if (retryAfterS !== undefined) {
    error.details.push({ desc: RetryInfoSchema, value: { retryDelay: { seconds: BigInt(retryAfterS) } } });
  }
  return error;
}
