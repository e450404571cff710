// Tells pages that stand for a whole site that is not there: of a hosting provider that has suspended the account, of a registrar whose
// domain has expired, and of a company that parks domains or sells them. The root of such a site is no better than its other pages.
import { isShort, type PageSigns, prose } from './html.ts';

/** `certain`: no other page has the mark. `stated`: the page says so, and every other name of the site must say the same. */
export type SiteAbsence = 'certain' | 'stated' | null;

/** Addresses of hosting panels for accounts that are suspended or have no site. */
const PANEL_PATH = /^\/(?:cgi-sys\/(?:suspendedpage|defaultwebpage)\.cgi|suspended\.page\/?)$/;
/** Where domains are sold. */
const BROKER =
  /(?:^|\.)(?:afternic|atom|brandbucket|buydomains|dan|domainmarket|dynadot|forsale\.godaddy|hugedomains|sedo|spaceship|undeveloped)\.com$/;

/** Markup of companies that park domains: the key by which ad blockers let their pages through, their data, a stub, and their scripts. */
const PARKED: readonly RegExp[] = [
  /<html[^<>]{0,300}\sdata-adblockkey=["']?MFww/i,
  /\bwindow\.(?:park\s?=\s?["']ey|LANDER_SYSTEM\s?=)/,
  /^(?:<!doctype html>)?<html><head><script>(?:window\.onload=function\(\)\{)?window\.location\.href="\/lander"/i,
  /<script[^<>]{0,300}\ssrc=["'](?:https?:)?\/\/(?:[\w-]{1,63}\.){0,4}(?:bodiscdn|parkingcrew|parklogic|sedoparking)\.(?:com|net)\//i,
  /<script[^<>]{0,300}\ssrc=["'][^"'<>]{0,200}\/(?:parking-lander\/|parking-page-)/i,
];
/** Letters of a parked page's prose. Its advertisements come by script. */
const PARKED_LETTERS = 2000;

/** A title or heading that says nothing else. */
const STATED =
  /^(?:(?:error:?|sorry,?|this|the|your|hosting|web) ){0,3}(?:account|website|site|domain(?: name)?) (?:(?:has|is|was|been|now|currently|temporarily) ){0,3}(?:suspended|disabled|deactivated|expired|parked)[.!]?$/i;
const FOR_SALE = /\bfor sale\b|\bavailable (?:for purchase|to buy)\b|\b(?:has|is) (?:expired|parked)\b/i;
/** Who can bring the site back. Without such a word the page may speak of its reader's account. */
const HOSTING =
  /\b(?:hosting|web ?host|domain|registrar|webmaster|(?:web)?site owner|owner of (?:this|the) (?:web ?)?site)\b/i;
const STATED_LETTERS = 1000;
const LEAD_CHARS = 1500;

/** What a 2xx page shows of its whole site. */
export function absenceOfSite(html: string, { title, headings }: PageSigns, requested: URL, final: URL): SiteAbsence {
  if (requested !== final && (isPanelPage(requested, final) || isOffer(requested, final))) return 'certain';
  // The title of a parked page is its domain, or missing.
  if ((title === '' || title.includes('.')) && PARKED.some((one) => one.test(html)) && isShort(html, PARKED_LETTERS))
    return 'certain';
  const labels = headings.length === 0 ? [title] : [title, headings[0]!.text];
  if (!labels.some((label) => STATED.test(label) || (FOR_SALE.test(label) && isNamedIn(label, requested)))) return null;
  if (!isShort(html, STATED_LETTERS)) return null;
  return HOSTING.test(`${title} ${prose(html, LEAD_CHARS)}`) ? 'stated' : null;
}

const isPanelPage = (requested: URL, final: URL) =>
  PANEL_PATH.test(final.pathname) && !PANEL_PATH.test(requested.pathname);

/** Whether a broker's page offers the domain that was asked for. */
function isOffer(requested: URL, final: URL): boolean {
  return BROKER.test(final.hostname) && !BROKER.test(requested.hostname) && isNamedIn(final.href, requested);
}

/** Whether a text has the name of the URL's site. */
function isNamedIn(text: string, { hostname }: URL): boolean {
  return text.toLowerCase().includes(hostname.replace(/^www\d?\./, ''));
}
