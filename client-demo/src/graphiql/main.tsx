import '@graphiql/react/style.css';
import '@graphiql/plugin-doc-explorer/style.css';
import 'graphiql/graphiql.css';
import './page.css';
import './workers';

import { createRoot } from 'react-dom/client';

import { Explorer } from './Explorer';
import { restoreTheme } from './theme';
import { viewerHeaders } from './viewer';

restoreTheme();

const place = document.getElementById('graphiql');
if (place === null) throw new Error('graphiql.html has a place for GraphiQL');
createRoot(place).render(<Explorer headers={await viewerHeaders()} />);
