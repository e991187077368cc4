import { lazyPart } from '../lazy-part.tsx';
import type { PageProps } from '../routes.ts';
import { connectionsTexts } from '../texts/connections.ts';
import { ListOrItem } from '../ui/list-page.tsx';
import ConnectionList from './connection-list.tsx';

const Connection = lazyPart(() => import('./connection.tsx'));

export default function ConnectionsPage({ rest }: PageProps) {
  return (
    <ListOrItem
      rest={rest}
      title={connectionsTexts.title}
      list={<ConnectionList />}
      check={(id) => ['app_connections:read', `app-connection/${id}`]}
      item={(id) => <Connection id={id} />}
    />
  );
}
