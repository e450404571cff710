// English, German, Dutch, Afrikaans, Frisian, Luxembourgish, Swedish, Danish with Norwegian, Icelandic and Faroese.
import type { Languages } from './language.ts';

export const GERMANIC: Languages = {
  en: {
    things:
      "(?<!-)(?:(?:web)?(?:pages?|site)|contents?|files?|director(?:y|ies)|documents?|articles?|posts?|stor(?:y|ies)|recipes?|products?|items?|goods|listings?|ads?|adverts?|jobs?|vacanc(?:y|ies)|positions?|propert(?:y|ies)|events?|courses?|profiles?|users?|accounts?|members?|videos?|images?|photos?|albums?|playlists?|books?|records?|lots?|topics?|threads?|forums?|boards?|questions?|categor(?:y|ies)|collections?|resources?|objects?|urls?|links?|addresse?s?|locations?|offers?|deals?|projects?|repositor(?:y|ies)|apps?|spaces?|entr(?:y|ies)|what you(?:'re| are| were)? (?:looking|requested|searching)|(?:this|that) (?!is\\b|was\\b|has\\b|can\\b|could\\b|does\\b)[\\p{L}-]+)",
    gone: "(?:was|were|is|be|are) not (?:be )?found|wasn't found|not (?:be )?found|(?:can(?:no|')t|can not|could(?:n't| not)|unable to|failed to|not able to) (?:seem to )?(?:be )?(?:find|found|locate|located)|do(?:es)?(?:n't| not) (?:seem to |appear to )?exist|not (?:seem|appear) to exist|no longer (?:exists?|active|online|listed|live|on sale|for sale|sold|offered|stocked|accepting|stock|sell|offer|carry|part of|in our|here|with us)|(?:is|are)(?:n't| not) available|(?:is|are) no longer available|ha(?:s|ve) (?:now )?(?:been )?(?:expired|removed|deleted|discontinued|withdrawn|taken down)|(?<!-)(?:ads?|adverts?|jobs?|listings?|offers?|positions?|vacanc(?:y|ies)|events?|accounts?) (?:has|have) (?:now |already )?(?:been )?(?:closed|ended|filled)|(?:is|was|been) (?:removed|deleted|discontinued)|no such|nothing (?:was )?(?:found|matched|here)|(?:is|are) (?:no|not any) pages? (?:here|at|with|on)|pages? (?:is|are|went) missing|off limits",
    after: 'unavailable|not available|no longer available|(?:is|was) lost|invalid',
    bare: "not found|nothing (?:was )?found|(?:there's |there is )?nothing (?:to see )?here|no (?:search )?results?(?: (?:were )?found)?|0 results?(?: found)?|no longer available|410 gone|(?:you've found a )?dead link|cannot get /[^ ]*|no route matches|(?:looks like )?you(?:'re| are) lost|couldn't find that",
  },
  de: {
    things:
      '~seiten?|web-?site|inhalt~|artikel|produkte?s?|beitr(?:ag|age)|dateie?n?|verzeichnis|dokument~|anzeige|inserat|angebot|stelle|stellenangebot|veranstaltung|profil|(?:be)?nutzer|mitglied|video|bild|kategorie|eintrag|rezept|buch|objekt|thema|foren?|forum|nachricht|adresse|ressource|projekt|url|link|wonach|was (?:sie|du)',
    gone: 'nicht (?:mehr )?(?:gefunden|finden|auffindbar|existent)|nicht (?:mehr )?(?:verfugbar|vorhanden|erhaltlich|lieferbar|online|im sortiment|in unserem sortiment|aktuell)|existiert (?:leider |noch )?nicht|nicht (?:zu )?(?:existieren|existiert)|gibt es (?:leider |noch )?(?:nicht|keine?)|wurde (?:bereits )?(?:geloscht|entfernt|deaktiviert)|(?:ist|leider) (?:bereits )?abgelaufen|keine seite',
    after: 'abgelaufen|unauffindbar|geloscht|entfernt',
    bare: 'nicht gefunden|keine (?:ergebnisse|treffer)(?: gefunden)?|nichts gefunden|(?:hier ist |hier gibt es )?nichts',
  },
  nl: {
    things:
      "~pagina(?:'s)?|inhoud|artikel|product~|bestand|document|advertentie|vacature|aanbieding|evenement|profiel|gebruiker|video|afbeelding|bericht|recept|boek|categorie|woning|link|onderwerp|object|item|bron|adres|url|project|waar (?:je|u)",
    gone: 'niet (?:kunnen |kon )?(?:worden )?(?:gevonden|vinden)|(?:bestaat|vinden) (?:helaas |nog )?niet|niet (?:te )?(?:vinden|bestaan)|niet (?:meer )?(?:beschikbaar|leverbaar|verkrijgbaar|online|vinden)|is (?:helaas )?(?:verlopen|verwijderd)|niet langer (?:beschikbaar|leverbaar|online|te koop)|geen pagina',
    after: 'verlopen|verwijderd|onvindbaar',
    bare: 'niet gevonden|geen resultaten|niets gevonden|(?:er is )?(?:hier )?niets(?: hier)?',
  },
  af: {
    things: 'bladsy~|artikel|produk|leer|dokument|gebruiker|beeld|skakel|hulpbron|inhoud|onderwerp|webwerf|url|objek',
    gone: 'nie (?:gevind|beskikbaar|gekry|opgespoor)(?: (?:nie|word|is|kan))*|kon nie|bestaan (?:nog )?nie|is (?:verwyder|geskrap)',
    bare: 'nie gevind(?: nie)?|niks (?:is )?(?:hier |gevind )?nie|niks (?:hier|gevind)',
  },
  fy: { things: 'side|siden?|webside', gone: 'net (?:fûn|fine|beskikber)|bestiet net', bare: 'net fûn' },
  lb: {
    things: 'sait~|thema|artikel|dokument|dossier',
    gone: 'net fonnt|gett et (?:nach )?net|existeiert net',
    bare: 'net fonnt',
  },
  sv: {
    things:
      '~sid(?:a|an|or|orna)|innehall~|artikel~|produkt~|vara~|fil(?:en)?|dokument~|annons~|jobb~|tjanst~|evenemang~|profil~|anvandar~|video~|bild~|nyhet~|recept~|bok~|kategori~|inlagg~|amne~|objekt~|resurs~|url|adress~|lank~|det du',
    gone: '(?:kunde inte|kan inte|gick inte att|kunde ej) (?:hittas|hitta|finna|finnas)|(?:hittades|hittas|hittar|hittade|hittad|finns|finnas|fanns) (?:tyvarr )?(?:inte|ej|inga?)|(?:inte|ej) (?:langre )?(?:tillganglig|kvar|hittas|hittad|hittats|finnas|hitta)|existerar (?:inte|ej)|ar (?:tyvarr )?borttagen|saknas',
    after: 'har (?:utgatt|tagits bort|upphort|gatt ut|raderats)|borttagen',
    bare: '(?:inte|ej) (?:hittad|funnen|hittades)|hittades (?:inte|ej)|inga (?:resultat|traffar)(?: hittades)?|(?:ingenting|inget) (?:hittades|har|att se)(?: har)?',
  },
  da: {
    things:
      '~sid(?:e|en|er|erne|a)|indhold~|innhold~|artik(?:el|kel)~|produkt~|vare~|filen?|fila|dokument~|annonce~|annonse~|job~|stilling~|begivenhed~|hending~|profil~|bruger~|bruker~|brukar~|video~|billede~|bilde~|nyhed~|nyhet~|opskrift~|oppskrift~|bog~|bok~|kategori~|indlaeg~|innlegg~|emne~|objekt~|ressurs~|ressource~|url|adresse~|lenke~|link~|det du',
    gone: '(?:blev|ble|vart) (?:desvaerre |dessverre )?(?:ikke|ikkje) (?:fundet|funnet|funne)|(?:kunne|kan) (?:vi )?(?:desvaerre |dessverre )?(?:ikke|ikkje) (?:findes|finnes|finde|finne|finnast|lokaliseres|blive fundet|bli funnet)|(?:findes|finnes|finst|eksisterer|fandt|fant|fann|finder|finner) (?:vi )?(?:desvaerre |dessverre )?(?:ikke|ikkje)|(?:ikke|ikkje) (?:laengere |lenger |laenger )?(?:tilgaengelig|tilgjengelig|aktiv|online|til sal|at eksistere|a eksistere|fundet|funnet|funne)|(?:er|blev|ble) (?:fjernet|slettet|udlobet|utlopt|udgaet|utgatt)|ingen side|(?:ikke|ikkje) (?:noe|noko) innhold',
    bare: '(?:ikke|ikkje) (?:fundet|funnet|funne)|(?:ingenting|intet|ingen) (?:resultater|treff|her|fundet|funnet)(?: her| fundet| funnet)?|her er (?:ingenting|intet)',
  },
  is: {
    things: '~sid(?:a|an|u|una)|skjal~|skra~|efni~|grein~|vara~|notand~|hlut~|slod~|myndin?|thad sem|þad sem',
    gone: '(?:fannst|finnst|fundust) (?:þvi midur |ekki)|(?:fannst|finnst|fundum) ekki|er ekki (?:lengur )?(?:til|tiltaek)|ekki (?:til|haegt ad finna)|hefur verid (?:eytt|fjarlaegd?)',
    bare: 'fannst ekki|ekkert (?:fannst|her)',
  },
  fo: {
    things: 'sid~|skjal~|grein~',
    gone: 'er ikki til|(?:var|vard) ikki funnin?|funnin? ikki|finst ikki',
    bare: 'ikki funnin?',
  },
};
