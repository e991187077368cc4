import { href } from '../app/router.ts';
import { Badge } from '../ui/badge.tsx';
import { ShownOnce } from '../ui/shown-once.tsx';
import type { ClusterItem } from './data.ts';
import { clustersTexts as texts } from './texts.ts';

export function ClusterToken({ id, token, onClose }: { id: string; token: string; onClose: () => void }) {
  return (
    <ShownOnce title={texts.tokenTitle} label={texts.token} value={token} fileName="cluster.token" onClose={onClose}>
      <p>{texts.tokenText}</p>
      <p>
        {texts.id}: <code>{id}</code>
      </p>
    </ShownOnce>
  );
}

export function ClusterState({ cluster }: { cluster: ClusterItem }) {
  const { kind, generation, applied_generation, failed, last_report_at } = cluster;
  if (kind === 'hosts') return <a href={href('hosts')}>{texts.seeHosts}</a>;
  if (last_report_at === null) return <Badge>{texts.silent}</Badge>;
  if (failed > 0) return <Badge tone="danger">{texts.failed(failed)}</Badge>;
  if (applied_generation < generation) {
    return <Badge tone="warning">{texts.behind(generation - applied_generation)}</Badge>;
  }
  return <Badge tone="good">{texts.current}</Badge>;
}
