// Whether the expression of an alert holds, of one process's metrics: those that compare the values of one metric with a number.
import { readFileSync } from 'node:fs';

const ALERTS = readFileSync(new URL('../../monitoring/alerts.yml', import.meta.url), 'utf8');

interface Condition {
  metric: string;
  /** `name="value"`, each. */
  labels: readonly string[];
  operator: string;
  limit: number;
}

function conditionOf(alert: string): Condition {
  const expression = ALERTS.split(`- alert: ${alert}\n`)[1]?.trimStart().split('\n')[0]?.replace('expr: ', '') ?? '';
  const words = expression.split(' ');
  const [operator, limit] = words.slice(-2);
  const [metric, labels = ''] = (words.at(-3) ?? '').replaceAll(/[()]/g, '').split('{');
  if (!metric || !operator || !['==', '>', '<'].includes(operator))
    throw new Error(`${alert} is not understood: ${expression}`);
  return { metric, labels: labels.replace('}', '').split(',').filter(Boolean), operator, limit: Number(limit) };
}

/** `metrics`: in the text format of Prometheus. */
export function holds(alert: string, metrics: string): boolean {
  const { metric, labels, operator, limit } = conditionOf(alert);
  return metrics.split('\n').some((line) => {
    if (!line.startsWith(metric) || !labels.every((label) => line.includes(label))) return false;
    const value = Number(line.slice(line.lastIndexOf(' ') + 1));
    if (operator === '==') return value === limit;
    return operator === '>' ? value > limit : value < limit;
  });
}
