import { DAY_MS } from '../../../kernel/base/clock.ts';
import type { Rotation } from '../contract.ts';

export function nextRotation(rotation: Rotation | null, from: number): number | null {
  return rotation === null ? null : from + rotation.interval_days * DAY_MS;
}
