import type { Reader } from '../../../kernel/storage/database.ts';
import type { AnomalyKernel } from '../links.ts';
import type { ModelMode, Votes } from '../models/access-models.ts';
import type { Period } from '../models/resource-history.ts';
import type { AnomalyType, Facts } from '../schemas.ts';

/** What a scan of one tenant gives to its detectors. */
export interface ScanContext {
  kernel: AnomalyKernel;
  tenantId: string;
  /** The tenant's share of the database for bulk work. */
  db: Reader;
  now: number;
  period: Period;
  /** The time of the oldest entry that was counted; null if none was. */
  countedSince: number | null;
  model: ModelMode;
  /** The tenant's own threshold; undefined if it has none. */
  threshold(type: AnomalyType): number | undefined;
  /** Aborted when the node stops, or another one has taken the scan. */
  signal: AbortSignal;
}

/** Something that is past its threshold. It holds names, counts and dates of the tenant, never a value. */
export interface Finding {
  resource: string;
  vaultId: string | null;
  secretId: string | null;
  connectionNo: number | null;
  /** The observed value by its threshold. */
  ratio: number;
  isProductionFortress: boolean;
  baseline: Facts;
  observed: Facts;
  /** What a dismissed finding must share with this one to be compared, besides type and resource; empty if nothing more. */
  kind: string;
  /** Numbers in which findings that are alike are near to each other. */
  features: readonly number[];
  /** The hours that it is about. */
  window: { from: number; to: number } | null;
  /** What each model said; null if only one ran. */
  votes: Votes | null;
  /** False if the finding is only recorded, for the comparison of models. */
  isRaised: boolean;
}

/** One kind of anomaly. It yields findings one by one, so that memory does not depend on how many there are. */
export interface Detector {
  type: AnomalyType;
  detect(context: ScanContext): AsyncIterable<Finding>;
}

/** The parts of a finding that most detectors leave as they are. */
export const PLAIN = {
  vaultId: null,
  secretId: null,
  connectionNo: null,
  isProductionFortress: false,
  kind: '',
  window: null,
  votes: null,
  isRaised: true,
} as const;
