// Romance languages, and Esperanto.
import type { Languages } from './language.ts';

export const ROMANCE: Languages = {
  fr: {
    things:
      'pages?|contenus?|articles?|produits?|fichiers?|documents?|annonces?|offres?|evenements?|profils?|utilisateurs?|membres?|videos?|images?|fiches?|recettes?|livres?|sujets?|themes?|categories?|adresses?|elements?|ressources?|objets?|projets?|url|liens?|ce que vous',
    gone: "introuvables?|non trouvee?s?|pas (?:ete |pu etre )?trouvee?s?|n'(?:existe|existent) (?:pas|plus)|pas exister|n'a (?:pas )?(?:pu etre|ete) ?(?:pas )?(?:trouvee?|localisee?)|(?:pas|plus) (?:accessible|disponible|en ligne|en vente|d'actualite)|a ete (?:supprimee?|retiree?|desactivee?)|(?:ne trouvons|n'avons) pas|n'y a (?:pas|aucune?|rien)|aucune? (?:page|contenu|article)|(?:impossible|incapable) de trouver",
    after: 'indisponible|inexistante?|a expire|supprimee?',
    bare: "introuvable|non trouvee?|aucun resultat(?: trouve)?|rien (?:ici|trouve|a voir)(?: ici)?|il n'y a rien ici",
  },
  es: {
    things:
      'pagina|contenido|articulo|producto|archivo|fichero|documento|anuncio|oferta|evento|perfil|usuario|video|imagen|noticia|receta|libro|tema|categoria|inmueble|enlace|publicacion|recurso|objeto|direccion|url|sitio|elemento|proyecto|entrada|lo que (?:busca~|estas?)',
    gone: 'no (?:se )?(?:ha |fue |he(?:mos)? )?(?:sido |podido )?(?:encontrad[oa]|encontro|encontrar|encuentra|encontramos|encuentro|existe|existen|hallad[oa]|localizad[oa])|no (?:se )?(?:ha |hemos |fue |es )?(?:puede|pudo|pudimos|podemos|podido|posible) (?:ser )?(?:encontr~|localizar|hallar)|no (?:parece )?existir|(?:ya )?no esta (?:disponible|en linea|publicad[oa])|ya no (?:existe|disponible|esta (?:en linea|a la venta|publicad[oa]))|ha (?:caducado|expirado|sido (?:eliminad|retirad|borrad)[oa])|no hay (?:ninguna )?pagina|parece que no existe',
    after: 'no disponible|inexistente|no valid[ao]|eliminad[oa]',
    bare: 'no encontrad[oa]|no se (?:han |ha )?(?:encontro|encontraron|encontrado)(?: (?:nada|resultados))?|sin resultados|(?:no hay )?nada (?:por )?aqui|aqui no hay nada',
  },
  ast: {
    things: 'paxina|artículu|ficheru',
    gone: "nun (?:s'|se )?(?:alcontro|alcontrada|atopo|esiste)|nun esiste",
    bare: "nun s'alcontro",
  },
  ca: {
    things:
      'pagina|contingut|article|producte|fitxer|arxiu|document|anunci|esdeveniment|perfil|usuari|video|imatge|noticia|llibre|tema|categoria|recurs|objecte|enllac|adreca|url|lloc',
    gone: "no (?:s'ha|s'han|hem|ha estat|es pot|es va|s'esta) ?(?:pogut |poden )?(?:ser )?(?:trobad?[ao]?r?t?|trobar|trobat|trobada)|no (?:trobad[ao]|trobat|existeix|existix|disponible)|ja no (?:existeix|esta disponible|es disponible)|s'ha (?:eliminat|suprimit|esborrat)|no hi ha cap pagina|no es troba",
    bare: "no trobad[ao]|no trobat|no s'ha trobat(?: res)?|cap resultat|(?:aqui )?no hi ha res(?: aqui)?|res per aqui",
  },
  gl: {
    things:
      'paxina|contido|artigo|produto|ficheiro|arquivo|documento|anuncio|evento|perfil|usuario|video|imaxe|tema|recurso|obxecto|ligazon|enderezo|sitio',
    gone: 'non (?:se )?(?:pudo |puido |poido |foi )?(?:atop(?:ou|ada|ado|ar|arse)|encontr~|topou|localiz~|existe)|(?:aínda|xa) non existe|non esta dispon~|foi eliminad[oa]',
    after: 'non disponible|non dispoñible|inexistente',
    bare: 'non (?:atopad[oa]|encontrad[oa])|non se atop(?:ou|aron)(?: nada| resultados)?|nada por aqui|aqui non hai nada',
  },
  pt: {
    things:
      'pagina|conteudo|artigo|produto|arquivo|ficheiro|documento|anuncio|oferta|vaga|evento|perfil|usuario|utilizador|video|imagem|noticia|receita|livro|categoria|imovel|publicacao|topico|recurso|objeto|objecto|endereco|url|site|item|projeto|link|o que (?:voce|procura|esta)',
    gone: 'nao (?:foi )?(?:encontrad[oa]|localizad[oa]|achad[oa])|nao foi possivel (?:encontrar|localizar)|nao (?:pode|podemos|pudemos|conseguimos|consegui) (?:ser )?(?:encontr~|localizar|achar)|nao (?:existe|existem|encontramos|existir|ha (?:nenhuma )?pagina)|nao esta (?:mais )?disponivel|ja nao (?:existe|esta (?:disponivel|online|a venda))|foi (?:removid|eliminad|apagad|excluid)[oa]|(?:oferta|vaga|anuncio) expirou',
    after: 'nao disponivel|indisponivel|inexistente|expirou|removid[oa]|invalid[oa]',
    bare: 'nao (?:foi )?(?:encontrad|localizad)[oa]|nada (?:foi )?encontrado|nenhum resultado(?: encontrado)?|sem resultados|(?:nao ha )?nada (?:por )?aqui|nada para ver aqui',
  },
  it: {
    things:
      'pagina|contenuto|articolo|prodotto|file|documento|annuncio|offerta|evento|profilo|utente|video|immagine|notizia|ricetta|libro|categoria|immobile|risorsa|oggetto|argomento|indirizzo|url|sito|elemento|progetto|quello che|cio che',
    gone: "non (?:e |sono )?(?:stat[oa] )?trovat[oa]|non (?:si trova|esiste|esistono)|non (?:sembra )?(?:esistere|esista)|non (?:e |risulta )?(?:piu )?(?:disponibile|presente|online|in vendita)|non (?:puo|e possibile|e stato possibile|siamo riusciti a|riusciamo a|abbiamo|riesco a) (?:essere )?(?:trova~|individuare)|e (?:stat[oa] )?(?:rimoss[oa]|eliminat[oa]|cancellat[oa]|scadut[oa])|non c'e (?:nessuna|alcuna) pagina",
    after: 'inesistente|scadut[oa]|non disponibile|introvabile',
    bare: "non trovat[oa]|nessun risultato(?: trovato)?|nulla (?:e stato )?trovato|(?:non c'e )?(?:niente|nulla) (?:da vedere )?qui|qui non c'e (?:niente|nulla)",
  },
  ro: {
    things:
      'pagin(?:a|ile|ii)|continut~|articol~|produs~|fisier~|document~|anunt~|ofert~|eveniment~|profil~|utilizator~|video~|imagin~|stir~|ret~|subiect~|resurs~|obiect~|adres~|url~|ceea ce|legatur~|cart(?:ea|e)',
    gone: 'nu (?:a |au |s-a |am |se |poate |pot )?(?:fost |putut |mai |fi |pare )*(?:sa )?(?:gasit~|gaseste|gasi|existe|exista|disponibil[ae]?|localizat~|este disponibil~|e disponibil~)|negasit[ae]?|a (?:fost )?(?:sters[ae]?|expirat|eliminat[ae]?)|nu exista (?:nicio )?pagin',
    after: 'indisponibil[ae]?|inexistent[ae]?',
    bare: 'negasit[ae]?|niciun rezultat|nu (?:a fost|s-a|au fost) gasit[ae]?(?: nimic| niciun rezultat)?|nimic (?:aici|gasit)',
  },
  fur: { things: 'pagjine|articul|file', gone: 'no (?:je )?(?:stade )?cjatad[ae]|no esist', bare: 'no cjatade' },
  ia: { things: 'pagina|topico|articulo|file', gone: 'non (?:es )?trovate|non existe', bare: 'non trovate' },
  oc: {
    things: 'pagina|article|fichier|document',
    gone: '(?:es |pas )*(?:introbabla|trobad[ao])|pas (?:estat )?trobad[ao]|existis pas',
    bare: 'pas trobada?|introbabla',
  },
  io: { things: 'pagin[oi]', gone: 'ne (?:esis )?trov(?:esis|ita|ebla)', bare: 'ne trov(?:esis|ita)' },
  eo: {
    things: 'pag(?:o|on)|artikol~|dosier~|dokument~|temo|objekt~|rimed~|uzant~',
    gone: 'ne (?:plu )?(?:estas |estis )?(?:trov(?:is|ita|ebla|iĝis|iĝas|eblis|eblas)|ekzistas|disponebla)|(?:ne|neniu) ekzistas',
    bare: 'ne trov(?:ita|is|ebla)|nenio (?:ĉi tie|trovita)',
  },
};
