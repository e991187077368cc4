import { createHmac } from 'node:crypto';
import { hostname } from 'node:os';
import { type RootFolder, UnreadError } from './root-folder.ts';

const FILES = ['/etc/machine-id', '/var/lib/dbus/machine-id'];
const MACHINE_ID = /^[0-9a-f]{32}$/;
const ID_HEX_CHARS = 32;
const BYTES_MAX = 1024;
const HOSTNAME_CHARS_MAX = 253;
const HOSTNAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/;

/** The machine id is confidential (machine-id(5)), so what leaves the host is an HMAC under it, other for each cluster. */
export function hostIdOf(machineId: string, clusterId: string): string {
  const digest = createHmac('sha256', machineId).update(`coffer-host:${clusterId}`).digest('hex');
  return `host_${digest.slice(0, ID_HEX_CHARS)}`;
}

export function readMachineId(root: RootFolder): string {
  for (const file of FILES) {
    const text = lineOf(root, file);
    if (text !== null && MACHINE_ID.test(text)) return text;
  }
  throw new Error('This host has no machine id. Run `systemd-machine-id-setup`, or write one to /etc/machine-id.');
}

/** Null if the host has no name that can be reported. */
export function readHostname(root: RootFolder): string | null {
  const name = lineOf(root, '/etc/hostname') ?? (root.isHost ? hostname() : '');
  return name.length <= HOSTNAME_CHARS_MAX && HOSTNAME.test(name) ? name : null;
}

function lineOf(root: RootFolder, file: string): string | null {
  try {
    return (root.read(file, BYTES_MAX).bytes.toString('utf8').split('\n', 1)[0] ?? '').trim();
  } catch (error) {
    if (error instanceof UnreadError) return null;
    throw error;
  }
}
