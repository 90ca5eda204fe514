"""Meaning of the words of a header, in several languages: a column is what its words together say.

A name is cut into words (`TapOnStop`, `einstiegshaltestelle`, `start_station_id`), each word has a meaning, and the
meanings together make one of our columns: an origin and a time are the `start`.
"""

import re
import unicodedata
from functools import cache

_WORDS = {
    "origin": (
        "from origin orig start started begin beginning board boarding boarded entry enter entrance departure "
        "depart departed dep pickup pick source von ab abfahrt einstieg eingang quelle anfang beginn quellort "
        "origine montee entree debut origen inicio subida embarque partida ascenso vertrek herkomst instap "
        "van tapon tagon tapin checkin on in entrata partenza salita inizio origem saida pu logon o ent entrada "
        "salida "
        "fra fran avgang pastigning pastigande afgang nastup odjezd wsiadanie odjazd poczatek poczatkowy "
        "wsiadania wejscie wejscia lahto nousu binis kalkis felszallas felszallasi "
        "посадка посадки отправление вход входа 乗車 入場 出発 上车 进站 승차 출발 "
        "nastupni nastupu vychozi urcare plecare avreise polazak polazna polaska polaziste vstop ilipimo "
        "iekapsanas sisenemine sisenemise retiro hire unlock unplug качване επιβιβαση επιβιβασης αναχωρηση "
        "ingresso naik masuk lên เข้า ขึ้น brd "
        "αναχωρησης εισοδος εισοδου עלייה עליה صعود 上車 進站 起點 入站 "
        "대여"
    ),
    "destination": (
        "to dest destination end ended finish finished alight alighting alighted exit arrival arrive arrived "
        "arr dropoff drop nach bis ankunft ausstieg ausgang ziel zielort ende arrivee fin descente sortie "
        "destino llegada bajada descenso aankomst bestemming uitstap eind einde naar tapoff tagoff tapout "
        "checkout checkuit off out uscita arrivo fine destinazione chegada desembarque do logoff d ex discesa "
        "til till avstigning avstigande vystup prijezd wysiadanie przyjazd koniec koncowy wysiadania "
        "wyjscie wyjscia leszallas leszallasi "
        "poistuminen inis varis ankomst slut высадка высадки прибытие выход выхода 降車 出場 到着 下车 出站 하차 도착 "
        "vystupni vystupu cilova coborare sosire saapuminen saapumis poistumis dolazak dolazna dolaska "
        "odrediste izstop islipimo izkapsanas valjumine valjumise desti sortida arribada arribo return returned lock "
        "plug deboard deboarding слизане αποβιβαση αποβιβασης αφιξη αφιξης εξοδος εξοδου προορισμος "
        "висадки ירידה نزول turun keluar xuống ออก ลง algt alght 下車 迄站 終點 반납"
    ),
    "stop": (
        "stop stops station stn location loc place platform terminal terminus zone taz halt haltestelle "
        "bahnhof ort halteort standort arret gare lieu parada estacion paradero lugar halte fermata stazione "
        "ponto paragem estacao site dock node poi area hub cell bay stopp bushaltestelle punto punkt punt "
        "airport borough district community "
        "hallplats holdeplass stoppested przystanek stacja zastavka stanice pysakki asema megallo durak duragi "
        "istasyon "
        "остановка станция 駅 停留所 バス停 站点 "
        "车站 站 역 정류장 "
        "statia statie stanica postaja stajaliste stotele pietura peatus peatuse зупинка спирка σταση στασης "
        "σταθμος σταθμου תחנה stesen stasiun perhentian trạm สถานี ป้าย תחנת محطة 車站 站點 정류소 대여소"
    ),
    "time": (
        "time hour timestamp ts datetime at moment zeit uhrzeit zeitpunkt zeitstempel heure horaire horodatage "
        "hora tiempo tijd tijdstip ora orario tempo dtm dttm dt when clock uhr uur horario momento "
        "klokkeslett klokkeslaet klockslag tidspunkt tidpunkt klokke godzina czas cas aika kello saat saati zaman "
        "zamani ideje "
        "время 時刻 日時 時間 时间 시각 시간 "
        "vrijeme vreme laikas laiks waktu masa giờ gio เวลา aeg час ωρα ωρας χρονος שעה שעת وقت 일시"
    ),
    "date": (
        "date datum day tag jour fecha dia dag giorno data dato dzien paiva pvm tarih tarihi дата 日付 日期 날짜 "
        "ημερομηνια tanggal tarikh ngày วันที่ תאריך تاريخ"
    ),
    "rider": (
        "rider user person customer passenger card account acct member subscriber token media medium karte "
        "fahrgast kunde nutzer chip chipkaart chipkarte carte abonne client usager voyageur tarjeta usuario "
        "pasajero cliente kaart reiziger klant drager cartao tessera utente uid csn pan smartcard farecard "
        "pseudonym pass passe prestige oyster orca clipper sube persona personne pax passeggero passageiro "
        "individual traveler traveller "
        "kort reisekort rejsekort resenar kund karta karty pasazer cestujici kortti kortin matkustaja kart yolcu "
        "support titre kartya kartyaszam "
        "карта карты пассажир kartu kad บัตร crd pid pnr knr abo κάρτα κάρτας כרטיס بطاقة البطاقة カード 利用者 "
        "会員 卡 用户 카드 "
        "targeta kartica kartice korteles kartes kaart kaardi картка картки 卡號"
    ),
    "trip": (
        "trip journey ride rental fahrt reise weg voyage trajet deplacement viaje trayecto recorrido rit reis "
        "viaggio corsa viagem tid traj trajectory track tour itinerary percorso "
        "resa rejse tur podroz przejazd jizda cesta matka yolculuk resans поездка 旅行 行程"
    ),
    "seq": (
        "seq sequence order reihenfolge folge lfd ordre orden secuencia volgorde ordine sequenza reihung rang "
        "index"
    ),
    "route": (
        "route line linie ligne linea lijn ruta service linha routes percurso buslinie "
        "linje linia linka linja hat"
    ),
    "vehicle": (
        "vehicle bus bike fahrzeug vehicule vehiculo voertuig interno coach train veiculo veicolo wagen rad "
        "velo scooter device "
        "vogn buss pojazd vozidlo "
        "자전거 公交 巴士"
    ),
    "lat": "lat latitude breite breitengrad latitud latitudine y",
    "lon": "lon lng long longitude laenge lange laengengrad langengrad longitud longitudine lngt x",
    "code": "code cod cd abbreviation kuerzel kurz short",
    "name": "name nom nombre naam bezeichnung desc description nome title txt label text libelle 名",
    "id": (
        "id nr nro no num broj cislo number nummer numer numero key ref "
        "identifier kennung หมายเลข identifiant serial hash uuid guid "
        "номер αριθμος κωδικος מספר رقم 番号 号 號 编号 編號 번호"
    ),
    "event": (
        "transactie tap tag event transaction txn trx transaccion transaktion validation validierung "
        "validacion "
        "validazione validacao beruehrung check scan swipe record buchung"
    ),
    "action": "action type typ tipo kind direction vorgang richtung mode art",
    "other": (
        "duration dauer duree duracion duur durata fare price preis tarif amount betrag cost age birth year "
        "gender sex speed altitude ele elevation distance distanz count kwh 이용 거치대 "
        "status reason category kategorie "
        "provider operator company agency city country zip postal weather seconds minutes discount product "
        "produkt saldo balance propulsion accuracy heading parking publication currency state battery"
    ),
    "tool": "machine reader validator turnstile automat entwerter valideur validadora",
    "filler": (
        "planned scheduled booked timetabled soll geplant prevu programado gepland actual real realised "
        "realized observed ist effectif efectivo werkelijk "
        "the of a an and local utc gmt de la le du des der die das dem den el los las il da im am zum zur l "
        "lo trip's my raw full gps geo point coord coordinate coordinates pos position wgs wgs84 s n 地铁 地鐵"
    ),
}
# Letters that join German and Dutch words.
_JOINTS = ("", "s", "n", "en", "es", "er")
# Letters that are no letter with a mark on it.
_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "ı": "i", "æ": "ae", "Æ": "Ae"})
# Articles that stand before a word without a blank: d'arrivée, الصعود.
_ARTICLES = re.compile(r"\b(?:[DLdl]['’]|ال)")
# Words that are too short to be found inside others; scripts that put no blanks between words have shorter ones.
_SHORTEST = 3


def _plain(name: str) -> str:
    """Lower case, without marks on letters."""
    plain = unicodedata.normalize("NFKD", name.translate(_LETTERS))
    return "".join(letter for letter in plain if unicodedata.category(letter)[0] != "M").lower()


MEANING = {_plain(word): meaning for meaning, words in _WORDS.items() for word in words.split()}


@cache
def meanings(name: str) -> tuple[str, ...]:
    """Return what the words of a column's name mean, in order; `unknown` for a word that has no meaning here."""
    found: list[str] = []
    if words_of(name) == ["an"]:  # beside `Ab`, on German timetables
        return ("destination",)
    for word in words_of(name):
        parts = [word] if word in MEANING else _cut(word)
        found += [MEANING[part] for part in parts] if parts else ["unknown"]
    return tuple(meaning for meaning in found if meaning != "filler")


def words_of(name: str) -> list[str]:
    """Cut a name at blanks, marks, digits and capitals; capitals alone are one word."""
    apart = re.sub(r"([A-Z]{2,})([A-Z][a-z])", r"\1 \2", _ARTICLES.sub("", name))
    apart = re.sub(r"([a-zà-ÿ])([A-ZÀ-Þ])", r"\1 \2", apart)
    joined: list[str] = []
    for word in re.findall(r"[^\W\d_]+", _plain(apart)):
        # tap on, check in, pick up: two words that mean one thing
        if joined and joined[-1] in ("tap", "tag", "check", "log", "pick", "drop") and word in _SECOND:
            joined[-1] += word
        else:
            joined.append(word)
    return joined


_SECOND = ("on", "off", "in", "out", "up", "uit")


@cache
def _cut(word: str) -> list[str] | None:
    """Cut a compound into known words, the longest first; None where a rest stays."""
    for length in range(len(word), 0 if word[0] >= "\u2e80" else _SHORTEST - 1, -1):
        if word[:length] not in MEANING:
            continue
        if length == len(word):
            return [word]
        for joint in _JOINTS:
            rest = word[length:]
            if rest.startswith(joint):
                rest = rest[len(joint) :]
                if rest in ("id", "at", "no", "nr") or not rest:
                    return [word[:length], *([rest] if rest else [])]
                inner = _cut(rest)
                if inner:
                    return [word[:length], *inner]
    return None


def column_for(name: str) -> str | None:
    """Return which of our columns a name says; None where it says none. Dates come as the date of their time."""
    said = meanings(name)
    if re.fullmatch(r"\s*[a-z]\d+\s*", name.lower()) and not set(said) & {"lat", "lon"}:
        return None  # `D1` is a cell of a sheet, `x1` a coordinate
    kinds = set(said)
    if " + " in name:  # `Year + Month + Day`, `Hour + Minute`: what they are part of
        kinds = kinds - {"other", "event", "unknown"} | {"date" if name.count(" + ") == 2 else "time"}
    known = kinds - {"other"} if kinds >= {"rider", "id"} else kinds  # `fare_media_id` is a card
    if not kinds or "tool" in kinds or "other" in known or kinds == {"unknown"}:
        return None
    end = _end(said)
    for axis in ("lat", "lon"):
        if axis in kinds:
            return axis if end is None or (kinds & {"stop"} and end is None) else f"{end}_{axis}"
    of_event = "event" in kinds and said.index("event") > said.index("rider" if "rider" in kinds else "event")
    if "rider" in kinds and not kinds & {"stop", "time", "date"} and not of_event:
        return None if kinds & {"action"} else "rider_id"
    if "seq" in kinds:
        return "seq"
    if kinds & {"time", "date"}:
        if "action" in kinds:
            return None
        moment = {"origin": "start", "destination": "end", None: "event_time"}[end]
        return (
            moment
            if "time" in kinds
            else {"start": "start_date", "end": "end_date", "event_time": "service_date"}[moment]
        )
    if "vehicle" in kinds and not kinds & {"stop"}:
        return "vehicle_id"
    if "route" in kinds and not kinds & {"stop"} and end is None:
        return "route_id"
    if end is not None and (
        kinds & {"stop", "id", "name", "code"} or kinds <= {"origin", "destination", "event", "trip"}
    ):
        return end
    if "stop" in kinds:
        return "stop_id"
    if "trip" in kinds and "action" not in kinds and "unknown" not in kinds:
        return "trip_id"
    if "event" in kinds and "id" in kinds:
        return "tap_id"
    return "action" if "action" in kinds and "unknown" not in kinds else None


def end_of(word: str) -> str | None:
    """Return which end of a ride the word of a transaction says."""
    return _end(meanings(word))


def _end(said: tuple[str, ...]) -> str | None:
    """Return the end of a ride that is meant; of both, the first that is said (`tap off transaction`, `exit at`)."""
    return next((meaning for meaning in said if meaning in ("origin", "destination")), None)
