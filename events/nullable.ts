// A schema that also allows null. The events and the API's answers share it.
import { Type } from './schema.ts';

export const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()]);
