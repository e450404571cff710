// A port or a store of which a test replaces some methods.
/** The target with some methods of the test's own. */
export const over = <Target extends object>(target: Target, own: Partial<Target>): Target =>
  new Proxy(target, {
    get(of, key) {
      const value: unknown = Reflect.get(own, key) ?? Reflect.get(of, key);
      return typeof value === 'function' ? value.bind(of) : value;
    },
  });
