import { closeSync, openSync, readSync } from 'node:fs';
import type { Clock } from '../base/clock.ts';
import { AddressGuard } from '../outbound/address-guard.ts';
import { HttpClient, type OutgoingAnswer, type OutgoingRequest } from '../outbound/http-client.ts';
import { SealError } from './provider.ts';

/** The part of `HttpClient` that a provider needs. */
export interface OutgoingCalls {
  send(outgoing: OutgoingRequest): Promise<OutgoingAnswer>;
}

/** What a provider is given. */
export interface SealSurroundings {
  /** For calls to the provider itself, with the address rules of the installation. */
  readonly http: OutgoingCalls;
  /**
   * For calls to the identity of this machine (`machineCalls`). Null where a tenant chose the key: then neither that identity nor a file or a module of this
   * machine is used.
   */
  readonly machine: OutgoingCalls | null;
  /** The variables that `open-provider.ts` lists, of the process or of a tenant's credentials. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** The tenant whose settings cause the calls. */
  readonly owner: string;
  /** Of each attempt. */
  readonly timeoutMs?: number;
  /** Before the second attempt; the pause before each further one is twice as long. */
  readonly backoffMs?: number;
}

/** A variable that a provider reads. */
export interface SealVariable {
  readonly name: string;
  readonly doc: string;
  readonly secret: boolean;
}

/** Where clouds tell a machine who it is: AWS, Google and Azure; containers of AWS; pods of AWS, in both families of addresses. */
export const METADATA_ADDRESS = '169.254.169.254';
export const AWS_CONTAINER_HOSTS = ['169.254.170.2', '169.254.170.23', '[fd00:ec2::23]'] as const;
export const GOOGLE_METADATA_HOST = 'metadata.google.internal';
const MACHINE_RANGES = [METADATA_ADDRESS, '169.254.170.2', '169.254.170.23', 'fd00:ec2::23'];

/**
 * Calls to the addresses where a cloud tells a machine who it is, and to nothing else. Other outgoing calls may not go there, because a tenant could read
 * the credentials of the machine through them. No name is resolved, so that no DNS server decides where they go.
 */
export function machineCalls(): HttpClient {
  const guard = new AddressGuard(MACHINE_RANGES, async (host) =>
    host === GOOGLE_METADATA_HOST ? [METADATA_ADDRESS] : [],
  );
  return new MachineClient(guard);
}

/** Public addresses are refused as well. */
class MachineClient extends HttpClient {
  override send(outgoing: OutgoingRequest): Promise<OutgoingAnswer> {
    return super.send({ ...outgoing, onlyOpened: true });
  }
}

export function variable({ env }: Pick<SealSurroundings, 'env'>, name: string): string | null {
  const value = env[name];
  return value === undefined || value === '' ? null : value;
}

const FILE_BYTES_MAX = 64 * 1024;

/** The text of a file that a variable names, read each time, because such files are replaced while the service runs. */
export function credentialFile({ machine }: Pick<SealSurroundings, 'machine'>, name: string, path: string): string {
  if (machine === null) throw new SealError('misconfigured', `${name} cannot be used for a key that a tenant chose.`);
  let text: string;
  try {
    text = readBounded(path);
  } catch {
    throw new SealError(
      'misconfigured',
      `The file of ${name} cannot be read, or has more than ${FILE_BYTES_MAX} bytes: let it exist and be readable by the service.`,
    );
  }
  const trimmed = text.trim();
  if (trimmed === '')
    throw new SealError('misconfigured', `The file of ${name} is empty: write the credential into it.`);
  return trimmed;
}

function readBounded(path: string): string {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(FILE_BYTES_MAX + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(file, bytes, length, bytes.length - length, null);
    if (length > FILE_BYTES_MAX) throw new RangeError('The file is too long.');
    return bytes.toString('utf8', 0, length);
  } finally {
    closeSync(file);
  }
}
