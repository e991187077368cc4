import type { Load } from './load.ts';
import type { RequestName } from './requests.ts';

export const PEER_NAMES = ['openbao'] as const;
export type PeerName = (typeof PEER_NAMES)[number];

/** Another product that answers the same requests, measured in the same rounds. */
export interface Peer {
  name: string;
  pid: number;
  port: number;
  /** Null if it has nothing equal. */
  requestOf(name: RequestName): Load['request'] | null;
}
