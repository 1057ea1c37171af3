import { createRoot } from 'react-dom/client';

import { App } from './App';
import './styles/base.css';
import './styles/page.css';
import './styles/like.css';
import './styles/feed.css';
import './styles/item.css';
import { restoreTheme } from './theme';

restoreTheme();

const root = document.getElementById('root');
if (!root) throw new Error('index.html has no #root');
createRoot(root).render(<App />);
