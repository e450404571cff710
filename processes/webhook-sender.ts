// The port for posting webhooks. Adapter: `adapters/webhook-sender`. The adapter only sends; the process managers decide what
// is sent, whether it arrived and when it is sent again.

export interface WebhookRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** The sender must not change a byte, because the body is signed. */
  body: string;
}

export interface WebhookAnswer {
  /** Null when no answer came in time, or the request was refused; then `error` says why. */
  status_code: number | null;
  error: string | null;
  /** The beginning of the body, without control characters. */
  response_excerpt: string;
  /** The answer's Retry-After. */
  retry_after_ms: number | null;
}

export interface WebhookSender {
  /**
   * Posts once, within one time limit for everything. It follows no redirect, and refuses private addresses and plain http
   * without a connection, unless the operator allows the address. Rejects when `signal` aborts, and when this machine lacks files,
   * memory or ports, which says nothing of the receiver.
   */
  send(request: WebhookRequest, signal: AbortSignal): Promise<WebhookAnswer>;
  close(): void;
}
