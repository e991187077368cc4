// Extends the type by which queries are typed.
import './tables.ts';
import { FeatureBuilder } from '../kernel/feature/builder.ts';
import type { Feature } from '../kernel/feature/feature.ts';
import type { Shared } from '../kernel/feature/links.ts';
import { allEndpoints, Wiring } from '../kernel/feature/wiring.ts';
import type { Kernel } from '../kernel/request/kernel.ts';
import { FEATURES } from './features.ts';

export interface Assembled {
  features: readonly Feature[];
  wiring: Wiring;
  /** What a feature shares. */
  shared<T>(shared: Shared<T>): T;
}

/** Builds every feature and connects them, for the server process and for operator commands. */
export function assemble(kernel: Kernel): Assembled {
  const wiring = new Wiring();
  const builder = new FeatureBuilder(kernel, wiring, FEATURES, [allEndpoints.as(wiring)]);
  const features = builder.buildAll();
  wiring.connect(features);
  return { features, wiring, shared: (shared) => builder.shared(shared) };
}
