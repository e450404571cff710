// Baltic, Finnic, Celtic, Turkic and other languages of Europe and Africa in Latin letters, Greek, Georgian and Armenian.
import type { Languages } from './language.ts';

export const EUROPEAN: Languages = {
  lt: {
    things:
      'puslap~|turin~|straipsn~|prek~|produkt~|fail~|byl~|dokument~|skelbim~|pasiulym~|vartotoj~|naudotoj~|vaizd~|tem[aos]|istekl~|objekt~|adres~|nuorod~|ko ieskote',
    gone: 'neras(?:tas|ta|ti|tos|tu|tame)|nebuvo ras~|buvo neras~|nepavyko rasti|neegzistuoj~|nebeegzistuoj~|nera (?:pasiekiam~|prieinam~)|puslapio nera|nerad(?:o|ome)|nebuvo rast~',
    after: 'nera|pasalint[aoi]s?|istrint[aoi]s?|nebegalioja|nepasiekiam~|neprieinam~',
    bare: 'neras(?:tas|ta|ti)|nieko ner(?:asta|a)(?: cia)?|cia nieko nera|rezultatu nera',
  },
  lv: {
    things:
      'lap(?:a|u|as|puse|pusi)|saturs|saturu|rakst~|prec~|produkt~|fail~|dokument~|sludinajum~|lietotaj~|attel~|tem[aus]|skirkl~|resurs~|objekt~|adres~|saite',
    gone: 'nav (?:vairs )?(?:atrast[asi]?|atrasts|iespejams atrast|pieejam[as]?|izveidot[as])|(?:netika|nebija) atrast[as]?|nevar(?:eja|am|ejam)? (?:atrast|tikt atrasta?)|neeksiste|neizdevas atrast|vairs nav|ir (?:dzest[as]|iznemt[as])|nav tadas lapas|nav nevienas lapas',
    bare: 'nav atrast[asi]?|nekas (?:netika|nav) atrasts|(?:seit )?nekā nav|nav rezultatu',
  },
  et: {
    things:
      'leh(?:t|te|ed|el|ekulge?|ekulg)|sisu|artikl~|toode~|toodet|fail~|dokument~|kuulutus~|kasutaja~|pilt~|teema~|ressurss?~|objekt~|aadress~|veebileht~|mida (?:sa|te)',
    gone: 'ei (?:leitud|leia|leidnud|ole (?:enam )?(?:leitav|saadaval|kattesaadav|olemas|voimalik leida)|eksisteeri|onnestunud leida|suutnud leida)|pole (?:enam )?(?:leitav|saadaval|kattesaadav|olemas)|veel (?:ei ole|pole)|on (?:kustutatud|eemaldatud|aegunud)',
    after: 'puudub|kustutatud|eemaldatud',
    bare: 'ei leitud|midagi ei leitud|siin (?:pole|ei ole) midagi|tulemusi ei leitud',
  },
  fi: {
    things:
      'sivu(?:a|n|t|sto~)?|verkkosivu~|sisalto~|artikkeli~|tuot(?:e|etta|teet)|tiedosto~|asiakirja~|ilmoitus~|tyopaik~|tapahtuma~|profiili~|kayttaja~|video~|kuva~|uuti~|resepti~|kirja~|kategoria~|aihe~|otsikko~|kohde~|kohdetta|resurssi~|osoite~|url~|linkki~|mita (?:etsit|hait)|etsimaasi',
    gone: 'ei (?:valitettavasti |enaa )?(?:loydy|loytynyt|loydetty|loytyny|voitu loytaa|voida loytaa)|ei (?:enaa |viela )?ole (?:enaa |viela )?(?:olemassa|saatavilla|saatavana|kaytettavissa|myynnissa|voimassa)|ei (?:nayta )?olevan? olemassa|ei ole sivua|(?:ei|emme) (?:loyda|loytaneet|loytanyt)|ei viela ole|on (?:poistettu|poistunut|vanhentunut)',
    bare: 'ei (?:loydy|loytynyt)|ei (?:hakutuloksia|tuloksia)|mitaan ei loytynyt|taalla ei ole mitaan',
  },
  hu: {
    things:
      'oldal~|weboldal~|lap(?:ot|ja)?|tartalom|tartalmat|cikk~|termek~|fajl~|allomany~|dokumentum~|hirdetes~|allas~|esemeny~|profil~|felhasznalo~|video~|kep(?:et)?|hir(?:t|ek)?|recept~|konyv~|temaa?~|eroforras~|objektum~|cim~|url~|hivatkozas~|amit keres~',
    gone: 'nem (?:volt )?(?:talalhato|letezik|elerheto|talaljuk|talaltuk|talaltam|talalhatok|kaphato|letezo|letezni)|nem erheto el|mar nem (?:aktualis|elerheto|kaphato|letezik)|meg nem letezik|nincs (?:ilyen|meg|a keresett)|nem sikerult megtalalni|toroltek',
    after: 'megszunt|torolve|torolt(?:uk|ek)|lejart|torlesre kerult|hianyzik',
    bare: 'nem talalhato|nincs talalat|(?:itt )?nincs (?:itt )?semmi(?: itt| lathato)?|semmi sem talalhato',
  },
  sq: {
    things:
      'faq(?:ja|e|en|es)|permbajtj~|artikull?~|produkt~|skedar~|dokument~|njoftim~|perdorues~|tem[ae]|objekt~|burim~|adres~|lidhj~|kete',
    gone: "(?:nuk|s'|s)\\s?(?:u |mund te )?(?:gjet|gjend|gjindet|gjendet|gjenet)~|(?:nuk|s') ?(?:ekziston|duket te ekzistoje)|nuk (?:eshte )?(?:me )?(?:e |i )?disponuesh~|nuk mund ta gjejme|eshte fshire",
    bare: "(?:nuk |s')u gjet(?: gje)?|(?:ketu )?s'ka gje(?: ketu)?|asgje (?:ketu|nuk u gjet)",
  },
  eu: {
    things:
      'orri(?:a|rik|alde~)?|eduki~|artikulu~|produktu~|fitxategi~|dokumentu~|iragarki~|erabiltzaile~|irudi~|gai(?:a)?|baliabide~|objektu~|helbide~|esteka~|bilatzen',
    gone: 'ez (?:da|dira|dugu|zen|zaigu|den|dago) (?:\\p{L}+ ){0,2}?(?:aurkitu~|existitzen|topatu|eskuragarri|bilatu|aurkitzen)|ezin (?:izan )?(?:da|dugu|izan da)?\\s?(?:\\p{L}+ )?(?:aurkitu|topatu)|orririk ez|ez da (?:orririk )?(?:aurkitu|existitzen)|ezabatu (?:da|egin da)',
    bare: 'ez da (?:ezer )?aurkitu|ez dago ezer(?: hemen)?|hemen ez dago ezer|aurkitu gabe',
  },
  tr: {
    things:
      'sayfa~|icerik~|icerig~|makale~|urun~|dosya~|belge~|ilan~|etkinlik~|profil~|kullanici~|video~|resim~|gorsel~|haber~|tarif~|kitap~|kategori~|adres~|konu~|baslik~|nesne~|kaynak~|kaynag~|proje~|baglanti~|url~|aradigin~',
    gone: 'bulunamadi~|bulunamiyor|bulunmuyor|bulunmamakta(?:dir)?|bulunamamistir|mevcut (?:degil~|gorunmuyor)|artik (?:mevcut|satista|yayinda|kullanilamiyor|yok)|(?:satista|yayinda|gecerli|kullanilabilir|erisilebilir|ulasilabilir) degil|bulamadik|bulamiyoruz|yayindan kaldir~|var olmayan|bir sayfa yok|(?:kaldirildi|silindi|kaldirilmistir|silinmistir)',
    after: 'yok|kaldirilmis|silinmis|suresi dol(?:du|mus)|bos',
    bare: 'bulunamadi|sonuc (?:yok|bulunamadi)|(?:burada )?(?:hicbir sey|bir sey) (?:yok|bulunamadi)(?: burada)?|burada hicbir sey yok',
  },
  az: {
    things:
      'sehife~|səhifə~|məzmun~|məqalə~|məhsul~|fayl~|sənəd~|elan~|istifadəçi~|şəkil~|mövzu~|obyekt~|resurs~|ünvan~|link~',
    gone: 'tapılma(?:dı|yıb|mışdır)~|mövcud deyil~|tapa bilmədik|(?:artıq )?yoxdur|silin(?:ib|mişdir)',
    bare: 'tapılmadı|heç nə tapılmadı|burada heç nə yoxdur|nəticə (?:yoxdur|tapılmadı)',
  },
  uz: {
    things: 'sahifa~|maqola~|mahsulot~|fayl~|hujjat~|obyekt~|mavzu~|foydalanuvchi~|manzil~|resurs~',
    gone: "topilma(?:di|gan)~|mavjud emas|topa olmadik|o'chirilgan",
    bare: "topilmadi|hech (?:narsa|nima) (?:topilmadi|yo'q)",
  },
  tk: { things: 'sahypa~|faýl~', gone: 'tapylma(?:dy|dyk)~|ýok', bare: 'tapylmady' },
  kk_latin: { things: 'bet~', gone: 'tabylmady', bare: 'tabylmady' },
  ku: {
    things: 'rupel~|babet~|gotar~|pel~',
    gone: '(?:nehat|nehate|nayê|nehatiye) (?:dîtin|nivîsandin)|(?:tune|tunne|nîne)(?: ye)?|peyda nebu',
    bare: 'nehat(?:e)? dîtin',
  },
  ga: {
    things: 'leathanach~|comhad|alt|acmhainn',
    gone: 'gan aimsiu|nar aimsiodh|nil fail ar|(?:ni|nior) (?:bhfuarthas|aimsiodh|fuarthas)|nach ann do|nil an leathanach',
    bare: 'nior aimsiodh|ni bhfuarthas|gan aimsiu',
  },
  gd: {
    things: 'duilleag~|faidhle',
    gone: "cha (?:deach|do) (?:\\p{L}+ )*(?:a )?lorg|cha d' fhuaradh|nach eil ann",
    bare: 'cha deach (?:\\p{L}+ )?a lorg|cha deach dad a lorg',
  },
  cy: {
    things: 'tudalen|dudalen|testun|ffeil|erthygl|adnodd',
    gone: '(?:heb|methu) (?:ei |a )?(?:chael|ganfod|canfod|darganfod)(?: .{0,30})?|(?:ddim|nid yw).{0,30}?(?:bodoli|ar gael)|dim tudalen',
    bare: 'heb ei (?:ganfod|chanfod)|dim byd yma|heb ganfod',
  },
  br: {
    things: 'bajenn~|pajenn~|restr',
    gone: "n'eo ket bet kavet|n'eus ket (?:eus )?|ne gaver ket",
    bare: "n'eo ket bet kavet|kavet ebet",
  },
  mt: {
    things: 'pagna|paġna|fajl|dokument',
    gone: 'ma (?:nstabitx|nstabx|teżistix|jeżistix|nstabetx|instabitx)',
    bare: 'ma nstabitx',
  },
  kab: { things: 'asebter~|afaylu', gone: 'ulac(?:-it|-itt)?|ur yettwaf ara', bare: 'ulac' },
  sw: {
    things: 'ukurasa|kurasa|maudhui|makala|bidhaa|faili|hati|tangazo|mtumiaji|picha|mada|rasilimali|kitu|kiungo|anwani',
    gone: '(?:hau|hai|haya|hai?ku|hau?ku|haku|haija|haya?ku)(?:weza kupatikana|patikani|kupatikana|japatikana|mepatikana|po|pa?tikani)|(?:haukuweza|haikuweza|hauwezi|haiwezi) kupatikana|haukupatikana|haupo|haipo|haipatikani|haikupatikana|haijapatikana|hatukuweza kupata|umeondolewa|umefutwa',
    bare: 'haikupatikana|haukupatikana|haijapatikana|hakuna (?:kitu|chochote|matokeo)(?: hapa| kilichopatikana)?',
  },
  zu: { things: 'ikhasi|ifayela', gone: 'al[ai]tholakal(?:anga|i)|alikho', bare: 'akutholakalanga' },
  el: {
    things:
      'σελιδα~|ιστοσελιδα~|περιεχομενο|αρθρο|προιον|αρχειο|εγγραφο|αγγελια|εκδηλωση|προφιλ|χρηστης|βιντεο|εικονα|θεμα|πορος|αντικειμενο|διευθυνση|συνδεσμος|url|αυτο που|ο,τι',
    gone: 'δεν? (?:εχει )?(?:βρεθηκε|βρεθηκαν|υπαρχει|υπαρχουν|βρεθει|ειναι (?:πλεον )?διαθεσιμ~|μπορει να βρεθει|ηταν δυνατη|μπορεσαμε|μπορουσε να βρεθει|βρηκαμε|φαινεται να υπαρχει|εντοπιστηκε)|εχει (?:διαγραφει|αφαιρεθει|ληξει|καταργηθει)|μη διαθεσιμ~|δεν ηταν δυνατον να βρεθει',
    after: 'ανυπαρκτ~|μη εγκυρ~',
    bare: 'δεν? βρεθηκε(?: τιποτα)?|δεν βρεθηκαν(?: αποτελεσματα)?|κανενα αποτελεσμα|(?:δεν υπαρχει )?τιποτα εδω|εδω δεν υπαρχει τιποτα',
  },
  ka: {
    things: 'გვერდ|სტატი|ფაილ|დოკუმენტ|პროდუქტ|განცხადებ|მომხმარებ|ობიექტ|რესურს|თემა|მისამართ|რასაც ეძებ',
    gone: 'ვერ (?:მოიძებნა|ვიპოვე|იქნა ნაპოვნი|ვიპოვეთ|მოიძებნ)|არ (?:არსებობს|მოიძებნა|არის ნაპოვნი)|არ არის ხელმისაწვდომი|წაიშალა|აღარ არსებობს',
    bare: 'ვერ მოიძებნა|არაფერი (?:მოიძებნა|არ არის)|ვერაფერი მოიძებნა|აქ არაფერია',
    joined: true,
  },
  hy: {
    things: 'էջ|հոդված|ֆայլ|փաստաթ|ապրանք|օգտատեր|օգտագործող|ռեսուրս|օբյեկտ|թեմա|հասցե|հայտարար',
    gone: '(?:չի|չեն|չէր|չհաջողվեց) (?:գտնվել|գտնվում|գտնել)|չգտնվեց|գտնված չէ|գոյություն չունի|հասանելի չէ|չկա|ջնջվել է',
    bare: 'չի գտնվել|գտնված չէ|չգտնվեց|ոչինչ (?:չի գտնվել|չգտնվեց|չկա)',
    joined: true,
  },
};
