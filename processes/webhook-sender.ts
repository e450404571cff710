// The port of what posts webhooks. Adapter: `adapters/webhook-sender`. Sending is the whole of it: what is sent, whether it
// arrived and when it is sent again are decided here.

export interface WebhookRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Sent byte for byte: it is signed. */
  body: string;
}

export interface WebhookAnswer {
  /** Null when no answer came in time, or none was asked for; then `error` says why. */
  status_code: number | null;
  error: string | null;
  /** The beginning of the body, without control characters. */
  response_excerpt: string;
  /** From Retry-After. */
  retry_after_ms: number | null;
}

export interface WebhookSender {
  /**
   * Posts once, within a time limit over all. Redirects are not followed; addresses that are not for the world, and plain
   * http to all others, are refused without a connection. Rejects only when `signal` aborts.
   */
  send(request: WebhookRequest, signal: AbortSignal): Promise<WebhookAnswer>;
  close(): void;
}
