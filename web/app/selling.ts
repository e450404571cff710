/** Whether the service sells credits and plans. Where it does not, the console shows no prices. */
export const SELLS = document.documentElement.dataset.sells === 'true';
