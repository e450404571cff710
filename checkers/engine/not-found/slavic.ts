// Slavic languages, and the other languages in Cyrillic letters.
import type { Languages } from './language.ts';

export const SLAVIC: Languages = {
  pl: {
    things:
      'stron~|witryn~|tresc~|artykul~|produkt~|plik~|dokument~|ogloszeni~|ofert~|wydarzeni~|profil~|uzytkownik~|wideo|film~|zdjeci~|wiadomos~|przepis~|ksiazk~|kategori~|towar~|temat~|zasob~|zasob|obiekt~|adres~|element~|projekt~|url|link~|tego,? czego',
    gone: 'nie (?:zostal[aoy]? |mozna (?:bylo )?)?(?:odnalezion[aoye]?|znalezion[aoye]?|odnalezc|znalezc)|nie (?:znaleziono|odnaleziono|istnieje|istnieja|ma (?:takiej |tu |zadnej )?strony)|nie (?:jest )?(?:juz )?(?:dostepn[aey]|aktualn[aey])|nie udalo sie (?:znalezc|odnalezc)|nie moz(?:emy|na) (?:bylo )?(?:znalezc|odnalezc)|nie (?:moglismy|mozemy) (?:znalezc|odnalezc)|(?:zostala|zostal|zostalo) (?:usuniet~|skasowan~)|nie wydaje sie istniec',
    after: 'niedostepn[aey]|nieaktualn[aey]|usuniet[aye]|wygasl[aoy]?|nie istnieje',
    bare: '(?:nic )?nie (?:znaleziono|odnaleziono)(?: niczego)?|nie znaleziono|brak wynikow|(?:tu(?:taj)? )?nic tu(?:taj)? nie ma|nic tu nie ma',
  },
  cs: {
    things:
      'strank~|obsah~|clan(?:ek|k)~|produkt~|zbozi|soubor~|dokument~|inzerat~|nabidk~|udalost~|akce|profil~|uzivatel~|video~|obraz~|zprav~|recept~|knih~|kategori~|vyrobe?k~|tema~|objekt~|zdroj~|adres~|polozk~|odkaz~|projekt~|url|co (?:jste|hledate)',
    gone: 'nenalezen~|nebyl[aoy]? (?:bohuzel )?nalezen~|neexistuj[ei]|se (?:nam )?nepodarilo (?:\\p{L}+ )?(?:najit|nalezt)|nepodarilo se (?:nam )?(?:\\p{L}+ )?(?:najit|nalezt)|neni (?:jiz |uz |bohuzel )?(?:dostupn~|k dispozici|v nabidce|v prodeji|zadna stranka)|nelze (?:najit|nalezt)|nemuzeme (?:najit|nalezt)|byl[aoy]? (?:odstranen~|smazan~)|jeste neexistuje',
    after: 'nedostupn[aey]|smazan[aoy]?|odstranen[aoy]?|chybi',
    bare: 'nenalezen[aoy]?|nic (?:nebylo )?nenalezeno|nic nebylo nalezeno|zadne vysledky|(?:tady |zde )?nic (?:tu |tady |zde )?neni',
  },
  sk: {
    things:
      'strank~|obsah~|clan(?:ok|k)~|produkt~|tovar~|subor~|dokument~|inzerat~|ponuk~|podujati~|profil~|pouzivatel~|video~|obraz~|sprav~|recept~|knih~|kategori~|tema~|objekt~|zdroj~|adres~|polozk~|odkaz~|url|co ste',
    gone: 'sa nenasl[aoi]?|nenasl[aoi]? sa|nebol[aoi]? (?:ziaden )?(?:najden~|nenajden~)|nenajden~|neexistuj[ei]|sa (?:nam )?nepodarilo (?:\\p{L}+ )?najst|nepodarilo sa (?:\\p{L}+ )?najst|nie je (?:uz |viac )?(?:dostupn~|k dispozicii|v ponuke)|nemozno najst|nedokazali sme najst|bol[aoi]? (?:odstranen~|vymazan~|zmazan~)|este neexistuje',
    after: 'nedostupn[aey]|zmazan[aey]|odstranen[aey]|chyba',
    bare: 'nenajden[aeoy]?|nic sa nenaslo|ziadne vysledky|(?:tu )?nic (?:tu )?nie je',
  },
  sl: {
    things:
      'stran(?:i|jo|jeh)?|vsebin~|clan(?:ek|k)~|izdelek~|izdelk~|datotek~|dokument~|oglas~|uporabnik~|slik~|tem[ae]|objekt~|predmet~|vir~|naslov~|povezav~|url|kar iscete',
    gone: '(?:ni|niso) (?:bil[aoi]? )?(?:mogoce|mozno|bilo mogoce|bilo mozno|bilo) (?:najti|najden~)|ni (?:bil[aoi]? )?(?:najden~|na voljo|vec na voljo)|(?:se )?(?:vec )?ne obstaja~|ne najdem(?:o)?|nismo (?:uspeli )?na[js][tdl]~|bil[aoi]? (?:odstranjen~|izbrisan~)',
    bare: 'ni (?:bil[aoi]? )?najden[aoe]?~|nic ni (?:bilo )?najden~|ni (?:zadetkov|rezultatov)|(?:tukaj|tu) ni nicesar',
  },
  hsb: {
    things: 'strona~|stron[uey]|dataja~',
    gone: '(?:njebu|njebe|njejo|njeje) (?:se )?(?:namakan~|namakal~)|njeeksistuje',
    bare: '(?:njebu|njejo) (?:se )?namakan~',
  },
  dsb: {
    things: 'bok~|stron~|dataj~',
    gone: '(?:njejo|njeje) (?:se )?(?:namaka[nlł]~)|njeeksistěrujo',
    bare: 'njejo (?:se )?namaka[nl]~',
  },
  hr: {
    things:
      'stranic~|sadrzaj~|clan(?:ak|k)~|proizvod~|datotek~|fajl~|dokument~|oglas~|korisnik~|slik~|tem[aue]|objek(?:a)?t~|resurs~|adres~|poveznic~|link~|vez[ae]|url|sto (?:trazite|ste)',
    gone: '(?:nije|nisu) (?:moguce |bilo moguce |bil[aoi] )?(?:pronaden~|pronadjen~|pronaci|naden~|nadjen~|naci)|(?:nije|nisu) (?:vise )?dostup~|(?:jos (?:uvek |uvijek )?|vise )?ne postoj[ie]|ne (?:mozemo|mogu|moze se|moze da se) (?:da )?(?:pronaci|naci|pronad[je]~|pronad~)|nismo (?:mogli |uspjeli |uspeli )?(?:pronasli|pronaci|nasli|da pronadjemo|da pronademo)|(?:je|jest) (?:uklonjen~|obrisan~|izbrisan~)|nema (?:te )?stranice',
    after: 'nedostupn[aoe]|nepostojec[aei]|uklonjen[aoe]?|obrisan[aoe]?|istek(?:la|ao)',
    bare: 'nije (?:pronaden|pronadjen|naden|nadjen)[aoe]?|(?:nista|ništa) nije (?:pronaden|naden|pronadjen|nadjen)o|nema rezultata|(?:ovdje|ovde) nema (?:nicega|nicega|nista)|nema nicega ovd(?:j)?e',
  },
  sr: {
    things:
      'страниц~|садржај~|члан(?:ак|к)~|производ~|датотек~|фајл~|документ~|оглас~|корисник~|слик~|тем[ауе]|објек(?:а)?т~|ресурс~|адрес~|вез[ае]|url|што тражите',
    gone: '(?:није|нису) (?:могуће |било могуће |бил[аои] )?(?:пронађен~|нађен~|пронаћи|наћи)|(?:није|нису) (?:више )?доступ~|(?:још (?:увек )?|више )?не постој[ие]|не може(?:мо)? (?:да )?(?:се )?(?:пронаћи|пронађ~|нађ~)|нисмо (?:пронашли|нашли|могли)|је (?:уклоњен~|обрисан~|избрисан~)|нема (?:те )?странице',
    after: 'недоступн[аое]|непостојећ[аеи]|уклоњен[аое]?|обрисан[аое]?',
    bare: 'није (?:пронађен|нађен)[аое]?|ништа није (?:пронађено|нађено)|нема резултата|овде нема ничега',
  },
  mk: {
    things:
      'стран(?:а|ата|ици|ица|ицата)|содржин~|статиј~|производ~|датотек~|документ~|оглас~|корисник~|слик~|тем[аи]~|објект~|ресурс~|адрес~|врск~|url',
    gone: 'не (?:е|беше|се|може да биде|може да се|бил[ае]?) (?:пронајд~|најден~|најде|достапн~)|не постои|нема (?:таква )?страна|не можевме да|е (?:избришан~|отстранет~)',
    bare: 'не (?:е|беше) (?:пронајд|најд)ен[аои]?~|ништо не е (?:пронајдено|најдено)|нема резултати|тука нема ништо',
  },
  bg: {
    things:
      'страниц~|съдържани~|стати~|продукт~|стока|файл~|документ~|обяв~|потребител~|снимк~|изображени~|тем[аи]~|обект~|ресурс~|адрес~|връзк~|url|това,? което',
    gone: 'не (?:е|са|беше|бе|бяха|може да бъде|можа да бъде|може да се|бил[аои]?|успяхме да) (?:бил[аои]? )?(?:намер~|открит~|открие)|не съществува|не е (?:вече )?налич~|вече не (?:е|съществува|се)|няма (?:такава )?страница|липсва|е (?:изтрит~|премахнат~)|не намерихме|не можахме да',
    after: 'несъществуващ~|ненамерен~|недостъпн~|изтрит[ао]?|премахнат[ао]?',
    bare: '(?:не е намер|ненамер|не бе намер)ен[аои]?|нищо не (?:е|беше) намерено|няма (?:намерени )?резултати|тук няма нищо|несъществуващ[аи] (?:тема|страница)',
  },
  ru: {
    things:
      'страниц~|сайт~|контент~|материал~|стать~|товар~|продукт~|файл~|документ~|объявлени~|ваканси~|предложени~|событи~|мероприяти~|профил~|пользовател~|видео~|фото~|новост~|рецепт~|книг~|раздел~|категори~|тем[аыу]|запис~|лот~|адрес~|ресурс~|объект~|каталог~|проект~|ссылк~|содержимо~|url|то,? что вы',
    gone: 'не (?:был[аои]? |удалось |можем |может быть |смогли |нашли )?(?:найд?ен[аоы]?|наиден[аоы]?|наити|нашл[аои]|нашелся|нашли|существу[ею]т|доступ(?:ен|на|но|ны)|обнаружен[аоы]?|отыскать)|нет (?:в наличии|на сайте)|(?:так(?:ой|ого)|эт(?:ои|ой|ого)|данной|даннои|такои) \\p{L}+ (?:больше |уже |здесь )?(?:нет|не существует)|больше не (?:доступ~|существу~|прода~|актуал~)|еще не существует|снят[аоы]? с (?:прода~|публик~|произв~)|был[аои]? (?:удален[аоы]?|перемещен[аоы]? или удален[аоы]?)|(?:перемещен[аоы]?|существует),? (?:или|либо) (?:была )?удален[аоы]?|страниц[аы] нет|нет (?:так(?:ои|ой) )?страниц[ыа]',
    after:
      'удален[аоы]?|недоступ(?:ен|на|но|ны)|отсутству[ею]т|закрыт[аоы]?|заверш(?:ен[аоы]?|илось)|ист[её]к(?:ло|ла)?|нет',
    bare: 'не наиден[аоы]?|ничего не (?:наидено|нашлось)|(?:здесь|тут) (?:ничего|пусто)(?: нет)?|нет результатов',
  },
  uk: {
    things:
      "сторінк~|сторінок|саит~|контент~|матеріал~|статт~|товар~|продукт~|фаил~|документ~|оголошенн~|ваканс~|пропозиц~|поді[яії]~|профіл~|користувач~|відео~|фото~|новин~|рецепт~|книг~|розділ~|категорі~|тем[аиу]|запис~|адрес~|ресурс~|обєкт~|об'єкт~|проект~|посиланн~|вміст~|url|те,? що ви",
    gone: 'не (?:було |вдалося |вдалось |можемо |може бути |можна |змогли )?(?:знаиден[аоі]?|знаити|існу[єюе]~|доступн[аоі]|виявлено|знаишли|знаишл~)|неможливо знаити|більше (?:не (?:доступ~|існу~|прода~)|нема[є]?)|ще не існу~|знят[аоии]* з (?:прод~|публ~)|(?:було|була|був) (?:видален[аоі]?|переміщен[аоі]?)|(?:так(?:ої|оі|ого)|ціє[їі]) \\p{L}+ (?:немає|не існує)|немає (?:так(?:ої|оі) )?сторінки',
    after: 'видален[аоі]|недоступн[аеи]и?|відсутн[яєі]и?|немає',
    bare: 'не знаиден[аоі]?|нічого не знаидено|(?:тут|тут) нічого(?: немає)?|немає результатів',
  },
  be: {
    things:
      "старонк~|старонак|артыкул~|матэрыял~|фаил~|дакумент~|карыстальнік~|тэм[аы]|запіс~|рэсурс~|аб'ект~|адрас~|спасылк~|url|staronk~",
    gone: 'не (?:был[аои]? |можа быць |удалося |знои?шл~ )?(?:зноидзен[аоы]?|знаидзен[аоы]?|знаисці|існуе|зноиш[ло]~|даступн~)|адсутнічае|яшчэ не існуе|(?:была|быў) выдален~|nie znojdzien~|niama',
    bare: 'не (?:зноидзен|знаидзен)[аоы]?|нічога не (?:зноидзена|знаидзена)|нічога няма',
  },
  kk: {
    things:
      'бет~|парак~|мақала~|өнім~|файл~|құжат~|хабарландыру~|пайдаланушы~|сурет~|тақырып~|ресурс~|объект~|нысан~|мекенжаи~|мекен-жаи~',
    gone: 'табылма(?:ды|ған)~|табыл(?:ған )?жоқ|жоқ|таба алмадық|қолжетімді емес|жоиылған|өшірілген',
    bare: 'табылмады|ештеңе (?:табылмады|жоқ)|ештене табылмады|нәтиже жоқ',
  },
  ky: {
    things: 'бет~|баракча~|барак~|макала~|фаил~|документ~|объект~|ресурс~',
    gone: 'табылган жок|табылбады|таппадык|жок',
    bare: 'табылган жок|эч нерсе табылган жок',
  },
  tt: { things: 'бит~|сәхифә~|мәкалә~|фаил~', gone: 'табылмад[ыи]~|табылманы|юк', bare: 'табылмады' },
  mn: {
    things: 'хуудас~|ниитлэл~|фаил~|объект~|баримт~|нөөц~',
    gone: 'олдсонгүи|олдохгүи|баихгүи~|устгагдсан',
    bare: 'олдсонгүи|юу ч (?:олдсонгүи|алга)',
  },
  os: { things: 'фарс~', gone: 'нӕ (?:разынд|ссардӕуыд)|нӕй|ссардта', bare: 'нӕ разынд' },
  tg: {
    things: 'саҳифа~|сахифа~|мақола~|фаил~',
    gone: 'ефт нашуд|ёфт нашуд|пайдо нашуд|вуҷуд надорад',
    bare: 'ёфт нашуд',
  },
};
