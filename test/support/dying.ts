// A process that is killed at one of its steps.

/** Returns a function that wraps a step of the process: before or after the step with this number, from 1, the process ends. */
export function dyingAt(fatal: number, when: 'before' | 'after') {
  let steps = 0;
  return <Args extends unknown[], R>(step: (...args: Args) => Promise<R>) =>
    async (...args: Args): Promise<R> => {
      steps++;
      if (steps > fatal || (steps === fatal && when === 'before')) throw killing();
      const done = await step(...args);
      if (steps === fatal) throw killing();
      return done;
    };
}

/** As a store that is away, so that the work ends. */
const killing = () => Object.assign(new Error('killed'), { code: 'unavailable' });

/** The methods of a store as functions without `this`. */
export function bound<T extends object>(store: T): T {
  const methods = new Set([...Object.keys(store), ...Object.getOwnPropertyNames(Object.getPrototypeOf(store))]);
  const of = store as Record<string, unknown>;
  const functions = [...methods].filter((name) => name !== 'constructor' && typeof of[name] === 'function');
  return Object.fromEntries(functions.map((name) => [name, (of[name] as () => unknown).bind(store)])) as T;
}
