// The routers of the service, one for each first word of a path, because a router tries the expressions of its routes in turn. Decision 189
// says why.
import type KoaRouter from '@koa/router';
import type { Middleware } from 'koa';
import { Router } from './node-http.ts';
import type { Route } from './route.ts';

const RULES = { strict: true, sensitive: true, exclusive: 'specificity' } as const;

/** @example firstWord('/jobs/wait') // 'jobs' */
const firstWord = (path: string) => path.split('/', 2)[1] ?? '';

export class Routers {
  readonly #routers = new Map<string, KoaRouter>();
  readonly #middleware = new Map<string, Middleware>();

  /** Throws for a path that begins with a parameter, which would be of every router. */
  add({ method, path }: Pick<Route, 'method' | 'path'>, handler: Middleware): void {
    const word = firstWord(path);
    if (word.startsWith('{')) throw new Error(`${method} ${path}: a path begins with a word`);
    const router = this.#routers.get(word) ?? this.#begin(word);
    router.register(path.replace(/\{(\w+)\}/g, ':$1'), [method], handler);
  }

  #begin(word: string): KoaRouter {
    const router = new Router(RULES);
    this.#routers.set(word, router);
    this.#middleware.set(word, router.routes() as Middleware);
    return router;
  }

  routes(): Middleware {
    return (ctx, next) => this.#middleware.get(firstWord(ctx.path))?.(ctx, next) ?? next();
  }
}
