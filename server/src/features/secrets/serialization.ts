import { canonicalEnvironment } from '../../kernel/authz/environment.ts';
import { timestamp } from '../../kernel/base/clock.ts';
import { invalidField } from '../../kernel/base/errors.ts';
import {
  METADATA_BYTES_MAX,
  METADATA_KEYS_MAX,
  type Metadata,
  type MetadataChange,
  type MetadataInput,
  type Rotation,
  type Secret,
  type SecretSummary,
} from './contract.ts';
import type { ReadRow } from './reading/read-store.ts';
import type { SecretRow, SummaryRow } from './storage/tables.ts';

export function summaryOf(row: SummaryRow): SecretSummary {
  return {
    id: row.secret_id,
    secret_id: row.secret_no,
    path: row.path,
    type: row.type,
    environment: canonicalEnvironment(row.environment),
    protection: row.protection,
    version: row.version,
    metadata: metadataOf(row),
    created_at: timestamp(row.created_at),
    updated_at: timestamp(row.updated_at),
    rotated_at: row.rotated_at === null ? null : timestamp(row.rotated_at),
    next_rotation: row.next_rotation_at === null ? null : timestamp(row.next_rotation_at),
    expires_at: row.expires_at === null || row.expires_at < 0 ? null : timestamp(row.expires_at),
  };
}

/** The JSON of a read response. For a cached row that is read repeatedly, everything but the value is serialized once. */
export function serializedWithValue(vault: string, row: ReadRow, value: string): string {
  let before = BEFORE_VALUE.get(row);
  if (before === undefined) {
    before = `${JSON.stringify(secretOf(vault, row, row.risk_score)).slice(0, -1)},"value":`;
    BEFORE_VALUE.set(row, before);
  }
  return `${before}${JSON.stringify(value)}}`;
}
const BEFORE_VALUE = new WeakMap<object, string>();

export function secretOf(
  vault: string,
  row: SummaryRow,
  risk_score: number | null,
  rotation_status: Secret['rotation_status'] = null,
): Secret {
  return { ...summaryOf(row), vault, rotation: rotationOf(row), rotation_status, risk_score };
}

export function rotationOf({ rotation }: Pick<SecretRow, 'rotation'>): Rotation | null {
  return rotation === null ? null : (JSON.parse(rotation) as Rotation);
}

export function metadataOf(row: Pick<SecretRow, 'metadata' | 'tags'>): Metadata {
  const texts = row.metadata === '{}' ? {} : (JSON.parse(row.metadata) as Record<string, string>);
  return { ...texts, tags: row.tags === '[]' ? [] : (JSON.parse(row.tags) as string[]) };
}

/** Keys given replace, null removes, others stay. */
export function mergedMetadata(row: Pick<SecretRow, 'metadata' | 'tags'>, change: MetadataChange) {
  const merged = Object.entries({ ...metadataOf(row), ...change }).filter(([, value]) => value !== null);
  return storedMetadata(Object.fromEntries(merged) as MetadataInput);
}

/** Splits the metadata of a request for storage: tags are stored separately, since secrets are searched by them. */
export function storedMetadata(input: MetadataInput | undefined): { metadata: string; tags: string[] } {
  const { tags = [], ...texts } = input ?? {};
  const { description: _, owner: __, ...further } = texts;
  if (Object.keys(further).length > METADATA_KEYS_MAX) {
    throw invalidField('/body/metadata', `must have at most ${METADATA_KEYS_MAX} further keys`);
  }
  const metadata = JSON.stringify(texts);
  if (Buffer.byteLength(metadata) > METADATA_BYTES_MAX) {
    throw invalidField('/body/metadata', `must be at most ${METADATA_BYTES_MAX} bytes in all`);
  }
  return { metadata, tags };
}
