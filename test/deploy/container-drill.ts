import { execFileSync, type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { commandIn, environmentOf, type Stage } from '../support/container-file.ts';

/** Of the stages that build. Programs of the machine stand for those of the image of Node, but for Node itself. */
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

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
  /** What the builder is given as arguments. */
  buildArguments: Record<string, string>;
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

/** Where the program lies that gives up root's rights, which is of this machine and of no image. */
const DROPPER = '/run/drill';

/**
 * A script that does what a builder and a container engine do with the container file, in a mount namespace of its own: each stage that builds on an
 * image is an overlay of this machine's root with the pinned Node in it, and one that builds on nothing is empty. The last one becomes read-only, and
 * the command runs in it as the user that the file names, without capabilities. The process that runs the script becomes the service.
 */
export function containerScript(drill: Drill): string {
  const { stages, context, scratch } = drill;
  const lines = ['set -eu', `mount -t tmpfs tmpfs ${scratch}`, `cd ${scratch}`];
  for (const stage of stages) lines.push(...stageLines(stage, drill));
  const last = stages.at(-1) as Stage;
  lines.push(...startLines(last, drill));
  return lines.map((line) => line.replaceAll(' @CONTEXT@/', ` ${context}/`)).join('\n');
}

const rootOf = (stage: Stage, { stages, scratch }: Drill) => `${scratch}/${stages.indexOf(stage)}`;

function stageLines(stage: Stage, drill: Drill): string[] {
  const root = rootOf(stage, drill);
  const isEmpty = stage.image === 'scratch';
  const lines = isEmpty
    ? [`mkdir -p ${root}`, `mount -t tmpfs -o mode=0755 tmpfs ${root}`]
    : [
        `mkdir -p ${root} ${root}.upper ${root}.work`,
        `mount -t overlay overlay -o lowerdir=/,upperdir=${root}.upper,workdir=${root}.work ${root}`,
        `install -D -m 0755 ${process.execPath} ${root}/usr/local/bin/node`,
      ];
  lines.push(`for each in dev proc sys; do mkdir -p ${root}/$each && mount --rbind /$each ${root}/$each; done`);
  const given = Object.entries(drill.buildArguments).map(([name, value]) => quoted(`${name}=${value}`));
  const environment = [`PATH=${npmFolder()}:${PATH}`, ...given].join(' ');
  let folder = '/';
  for (const { name, text } of stage.instructions) {
    if (name === 'WORKDIR') {
      folder = text;
      // A folder of this machine is none of the image.
      if (!isEmpty) lines.push(`rm -rf ${root}${folder}`);
      lines.push(`mkdir -p ${root}${folder}`);
    } else if (name === 'RUN') {
      lines.push(`env ${environment} chroot ${root} /bin/sh -c ${quoted(`cd ${folder} && ${text}`)} >&2`);
    } else if (name === 'COPY') {
      lines.push(...copies(text, { root, folder, drill }));
    }
  }
  return lines;
}

function startLines(last: Stage, drill: Drill): string[] {
  const { scratch, env, mounts, isVolumeOfGroup } = drill;
  const root = rootOf(last, drill);
  const [uid = '', gid = ''] = last.instructions.find(({ name }) => name === 'USER')?.text.split(':') ?? [];
  const volume = last.instructions.find(({ name }) => name === 'VOLUME')?.text ?? '';
  const lines = [`cp -a ${root}${volume} ${scratch}/volume`, `mount --bind ${scratch}/volume ${root}${volume}`];
  if (isVolumeOfGroup)
    lines.push(`chgrp ${gid} ${scratch}/volume`, `chown root ${scratch}/volume`, `chmod 2775 ${scratch}/volume`);
  for (const [path, from] of Object.entries(mounts)) {
    lines.push(`mkdir -p ${root}${path}`, `mount --bind -o ro ${from} ${root}${path}`);
  }
  lines.push(
    `mount -t tmpfs -o mode=1777,noexec,nosuid,nodev tmpfs ${root}/tmp`,
    `mkdir -p ${root}${DROPPER}`,
    `mount -t tmpfs tmpfs ${root}${DROPPER}`,
    `cp "$(command -v setpriv)" $(ldd "$(command -v setpriv)" | grep -o '/[^ )]*') ${root}${DROPPER}/`,
    `mount -o remount,ro ${root}${DROPPER}`,
    `mount -o remount,ro ${root}`,
  );
  const command = last.instructions.find(({ name }) => name === 'CMD');
  const variables = Object.entries({ ...environmentOf(last), ...env }).map(([name, value]) =>
    quoted(`${name}=${value}`),
  );
  const rights = `--reuid=${uid} --regid=${gid} --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all`;
  const drop = `${DROPPER}/ld-linux-x86-64.so.2 --library-path ${DROPPER} ${DROPPER}/setpriv ${rights}`;
  const program = command === undefined ? [] : commandIn(command).map(quoted);
  lines.push(`exec env -i ${variables.join(' ')} "$(command -v chroot)" ${root} ${drop} ${program.join(' ')}`);
  return lines;
}

/** npm of this machine, run by the Node that is put in front. */
function npmFolder(): string {
  const npm = execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim();
  return `/usr/local/bin:${dirname(npm)}`;
}

/** A folder is copied by what is in it, as a builder does. */
function copies(text: string, { root, folder, drill }: { root: string; folder: string; drill: Drill }): string[] {
  const parts = text.split(' ');
  const flag = (name: string) => parts.find((part) => part.startsWith(`--${name}=`))?.slice(name.length + 3);
  const [stageName, owner] = [flag('from'), flag('chown')];
  const stage = drill.stages.find(({ name }) => name === stageName);
  const paths = parts.filter((part) => !part.startsWith('--'));
  const named = paths.at(-1) ?? '';
  const target = `${root}${resolve(folder, named)}`;
  return paths.slice(0, -1).flatMap((source) => {
    const from = stage === undefined ? `@CONTEXT@/${source}` : `${rootOf(stage, drill)}${resolve(source)}`;
    const file = `mkdir -p ${named.endsWith('/') ? target : dirname(target)} && cp -a ${from} ${target}`;
    const own = `(cd ${from} && find . -mindepth 1 -print0) | (cd ${target} && xargs -0 chown -h ${owner})`;
    return [
      `if [ -d ${from} ]; then mkdir -p ${target} && cp -a ${from}/. ${target}/; else ${file}; fi`,
      ...(owner === undefined ? [] : [own]),
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
