/** What every call has in common: deadline, retries, cancellation, pages. */

import {
  type DescMessage,
  type DescMethodUnary,
  type DescService,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { type Client as ServiceClient, createClient } from "@connectrpc/connect";

import { Attempts, type Backoff } from "./backoff.js";
import type { Connection, Endpoint } from "./endpoint.js";
import { decode, InvalidRequest } from "./errors.js";
import type { CallOptions } from "./fields.js";
import { pause } from "./pause.js";

/** A page of a listing; the token is empty on the last. */
export interface Page {
  nextPageToken: string;
}

export abstract class Calls implements Disposable {
  readonly #timeoutMs: number;
  readonly #backoff: Backoff;
  readonly #calls: Connection;
  readonly #streams: Connection;

  constructor(endpoint: Endpoint, timeoutMs: number, backoff: Backoff) {
    this.#timeoutMs = timeoutMs;
    this.#backoff = backoff;
    this.#calls = endpoint.connection();
    this.#streams = endpoint.connection();
  }

  /** Close both connections; calls and streams still open end. */
  close(): void {
    this.#calls.close();
    this.#streams.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /**
   * The bare stub of a service of `hbus.v1`, with this client's identity, for whatever the wrapper leaves out.
   *
   * It has no deadline unless given one, does not retry, and throws `ConnectError`: `decode` makes an `HbusError` of it.
   */
  service<S extends DescService>(service: S): ServiceClient<S> {
    return createClient(service, this.#calls.transport);
  }

  /** The same on the connection for streams. */
  protected streaming<S extends DescService>(service: S): ServiceClient<S> {
    return createClient(service, this.#streams.transport);
  }

  protected get timeoutMs(): number {
    return this.#timeoutMs;
  }

  /** Call until it succeeds, cannot succeed, or its time is over. */
  protected async call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageShape<I>,
    { timeoutMs = this.#timeoutMs, signal }: CallOptions,
  ): Promise<MessageShape<O>> {
    const attempts = new Attempts(this.#backoff, timeoutMs);
    for (;;) {
      signal?.throwIfAborted();
      try {
        const left = Math.max(1, Math.ceil(attempts.remainingMs));
        const answer = await this.#calls.transport.unary(method, signal, left, undefined, request as never);
        return answer.message;
      } catch (error) {
        signal?.throwIfAborted();
        const failure = unsendable(method.input, request) ?? decode(error);
        const ms = attempts.pauseAfter(failure);
        if (ms === undefined) throw failure;
        await pause(ms, signal);
      }
    }
  }

  protected async *pages<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageShape<I> & { pageToken: string },
    options: CallOptions,
  ): AsyncGenerator<MessageShape<O> & Page, void> {
    for (;;) {
      const page = (await this.call(method, request, options)) as MessageShape<O> & Page;
      yield page;
      if (page.nextPageToken === "") return;
      request.pageToken = page.nextPageToken;
    }
  }
}

/** Why a request cannot go on the wire, which no retry would change: a value that its field cannot hold. */
function unsendable<I extends DescMessage>(schema: I, request: MessageShape<I>): InvalidRequest | undefined {
  try {
    toBinary(schema, request);
    return undefined;
  } catch (error) {
    return new InvalidRequest(String(error), { cause: error });
  }
}
