import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import type { Cutoff } from '../../../kernel/time/cutoff.ts';

export interface SignOnDeviceTables {
  device_codes: DeviceRow;
}

/** A command line that waits for a person, in the tenant of the operator. Who confirmed it is sealed, bound to the code. */
export interface DeviceRow {
  tenant_id: string;
  device_hash: Uint8Array;
  user_code_hash: Uint8Array;
  /** Where it was started, for the person who confirms it. */
  address: string;
  /** Of the sign-in at a provider that is in progress; null if there is none, so that its state is used once. */
  state_hash: Uint8Array | null;
  sealed_decision: Uint8Array | null;
  polled_at: number;
  created_at: number;
  expires_at: number;
}

export type DeviceKey = Pick<DeviceRow, 'tenant_id' | 'device_hash'>;

export async function insertDevice(tx: Tx, row: DeviceRow): Promise<void> {
  await tx.insertInto('device_codes').values(row).execute();
}

export function findDevice(db: Reader, key: DeviceKey): Promise<DeviceRow | undefined> {
  return byKey(db, key).executeTakeFirst();
}

export function lockDevice(tx: Tx, key: DeviceKey): Promise<DeviceRow | undefined> {
  return byKey(tx, key).forUpdate().executeTakeFirst();
}

function byKey(db: Reader, { tenant_id, device_hash }: DeviceKey) {
  return db
    .selectFrom('device_codes')
    .selectAll()
    .where('tenant_id', '=', tenant_id)
    .where('device_hash', '=', device_hash);
}

export function findDeviceByUserCode(db: Reader, hash: Uint8Array): Promise<DeviceRow | undefined> {
  return db.selectFrom('device_codes').selectAll().where('user_code_hash', '=', hash).executeTakeFirst();
}

export async function updateDevice(
  tx: Tx,
  { tenant_id, device_hash }: DeviceKey,
  change: Partial<Pick<DeviceRow, 'state_hash' | 'sealed_decision' | 'polled_at'>>,
): Promise<void> {
  await tx
    .updateTable('device_codes')
    .set(change)
    .where('tenant_id', '=', tenant_id)
    .where('device_hash', '=', device_hash)
    .execute();
}

export async function deleteDevice(tx: Tx, { tenant_id, device_hash }: DeviceKey): Promise<void> {
  await tx
    .deleteFrom('device_codes')
    .where('tenant_id', '=', tenant_id)
    .where('device_hash', '=', device_hash)
    .execute();
}

export async function deleteDevicesBefore(tx: Tx, time: Cutoff): Promise<void> {
  await tx.deleteFrom('device_codes').where('expires_at', '<', time).execute();
}
