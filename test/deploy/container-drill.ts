import { execFileSync, type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { commandIn, environmentOf, type Stage } from '../support/container-file.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Of the image of Node. Programs of the machine stand for the others of the image. */
export const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Why the steps of a container file cannot be carried out here, or null. */
export function whyNoContainer(): string | null {
  if (process.platform !== 'linux') return 'it needs Linux';
  if (process.getuid?.() !== 0) return 'only root can mount file systems';
  const tried = spawnSync('unshare', [
    '--mount',
    'sh',
    '-c',
    'mount -t tmpfs none /mnt && mkdir /mnt/u /mnt/w /mnt/m && mount -t overlay o -o lowerdir=/,upperdir=/mnt/u,workdir=/mnt/w /mnt/m',
  ]);
  return tried.status === 0 ? null : 'overlay file systems cannot be mounted here';
}

export interface Drill {
  stages: readonly Stage[];
  /** What the builder was sent. */
  context: string;
  /** An empty folder for the file systems. */
  scratch: string;
  /** What the operator sets besides the variables of the image. */
  env: Record<string, string>;
  /** Folders of this machine that are mounted, by their paths in the container. */
  mounts: Record<string, string>;
  /** Whether the volume belongs to root and the group, as Kubernetes mounts it, and not to the user, as an engine makes it from the image. */
  isVolumeOfGroup: boolean;
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * A script that does what a builder and a container engine do with the container file, in a mount namespace of its own: each stage is an overlay of
 * this machine's root with the pinned Node in it. The last one becomes read-only, and the command runs in it as the user that the file names, without
 * capabilities. The process that runs the script becomes the service.
 */
export function containerScript({ stages, context, scratch, env, mounts, isVolumeOfGroup }: Drill): string {
  const lines = ['set -eu', `mount -t tmpfs tmpfs ${scratch}`, `cd ${scratch}`];
  const rootOf = (stage: Stage) => `${scratch}/${stages.indexOf(stage)}`;
  for (const stage of stages) {
    const root = rootOf(stage);
    lines.push(
      `mkdir -p ${root} ${root}.upper ${root}.work`,
      `mount -t overlay overlay -o lowerdir=/,upperdir=${root}.upper,workdir=${root}.work ${root}`,
      `install -D -m 0755 ${process.execPath} ${root}/usr/local/bin/node`,
      `for each in dev proc sys; do mount --rbind /$each ${root}/$each; done`,
    );
    let folder = '/';
    for (const { name, text } of stage.instructions) {
      if (name === 'WORKDIR') {
        folder = text;
        lines.push(`rm -rf ${root}${folder}`, `mkdir -p ${root}${folder}`);
      } else if (name === 'RUN') {
        lines.push(`PATH=${npmFolder()}:${PATH} chroot ${root} /bin/sh -c ${quoted(`cd ${folder} && ${text}`)} >&2`);
      } else if (name === 'COPY') {
        lines.push(...copies(text, root, folder));
      }
    }
  }
  const last = stages.at(-1) as Stage;
  const root = rootOf(last);
  const [uid = '', gid = ''] = last.instructions.find(({ name }) => name === 'USER')?.text.split(':') ?? [];
  const volume = last.instructions.find(({ name }) => name === 'VOLUME')?.text ?? '';
  // What is of this machine and of no image. Its folders below the scratch folder stay reachable by the mounts.
  lines.push(`cp -a ${root}${volume} ${scratch}/volume`, `mount --bind ${scratch}/volume ${root}${volume}`);
  if (isVolumeOfGroup)
    lines.push(`chgrp ${gid} ${scratch}/volume`, `chown root ${scratch}/volume`, `chmod 2775 ${scratch}/volume`);
  for (const [path, from] of Object.entries(mounts)) {
    lines.push(`mkdir -p ${root}${path}`, `mount --bind -o ro ${from} ${root}${path}`);
  }
  lines.push(
    `mount -t tmpfs -o mode=1777,noexec,nosuid,nodev tmpfs ${root}/tmp`,
    `mount -t tmpfs -o ro tmpfs ${root}${ROOT}`,
    `mount -o remount,ro ${root}`,
  );
  const command = last.instructions.find(({ name }) => name === 'CMD');
  const variables = Object.entries({ PATH, ...environmentOf(last), ...env }).map(([name, value]) =>
    quoted(`${name}=${value}`),
  );
  const drop = `setpriv --reuid=${uid} --regid=${gid} --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all`;
  const program = command === undefined ? [] : commandIn(command).map(quoted);
  lines.push(`exec chroot ${root} ${drop} env -i ${variables.join(' ')} ${program.join(' ')}`);
  return lines.map((line) => line.replaceAll(' @CONTEXT@/', ` ${context}/`)).join('\n');
}

/** npm of this machine, run by the Node that is put in front. */
function npmFolder(): string {
  const npm = execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim();
  return `/usr/local/bin:${dirname(npm)}`;
}

/** A folder is copied by what is in it, as a builder does. */
function copies(text: string, root: string, folder: string): string[] {
  const parts = text.split(' ');
  const isFromStage = parts[0]?.startsWith('--from=') ?? false;
  const sources = parts.slice(isFromStage ? 1 : 0, -1);
  const target = `${root}${join(folder, parts.at(-1) ?? '')}`;
  return sources.flatMap((source) => {
    // The only other stage is the first.
    const from = isFromStage ? `${dirname(root)}/0${source}` : `@CONTEXT@/${source}`;
    return [
      `if [ -d ${from} ]; then mkdir -p ${target} && cp -a ${from}/. ${target}/; else mkdir -p ${target.endsWith('/') ? target : dirname(target)} && cp -a ${from} ${target}; fi`,
    ];
  });
}

/** Runs a command where the service runs, as its user unless another is named: with its root folder and its variables. */
export function runBeside(
  pid: number,
  command: readonly string[],
  env: Record<string, string>,
  user = '10001',
): SpawnSyncReturns<string> {
  return spawnSync('nsenter', ['-t', `${pid}`, '-m', '-r', '-S', user, '-G', user, '--', ...command], {
    encoding: 'utf8',
    env,
    timeout: 60_000,
  });
}

export function writeScript(folder: string, script: string): string {
  const file = join(folder, 'container.sh');
  writeFileSync(file, script);
  return file;
}
